export * from './classify.js';
export * from './delays.js';
export * from './retries.js';
export * from './to-client-error.js';
