export * from './open-replies.js';
export * from './operations.module.js';
export * from './readiness.js';
export * from './shutdown-limit.js';
