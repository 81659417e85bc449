export * from './serve-as-worker.js';
export * from './supervise-workers.js';
