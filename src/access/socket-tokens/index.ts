export * from './socket-tokens.js';
export * from './socket-tokens.module.js';
