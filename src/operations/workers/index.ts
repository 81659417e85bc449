export * from './serve-as-worker.js';
export type { SiblingMessage } from './relay.js';
export * from './supervise-workers.js';
