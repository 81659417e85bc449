export * from './open-replies.js';
export * from './operations.module.js';
