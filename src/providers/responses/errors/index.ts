export * from './classify.js';
export type * from './failure-context.js';
export * from './retries.js';
export * from './retry-delay.js';
export * from './to-client-error.js';
