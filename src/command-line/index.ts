export * from './arguments.js';
export * from './help.js';
