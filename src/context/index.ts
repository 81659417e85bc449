export * from './context.module.js';
export * from './context-resolver.js';
export * from './conversation.js';
