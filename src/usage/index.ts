export * from './usage.module.js';
