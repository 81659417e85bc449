export * from './error-body.js';
export * from './retry-after.js';
export * from './to-model-error.js';
export * from './unreachable.js';
