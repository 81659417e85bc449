export * from './clock.js';
export * from './time.module.js';
