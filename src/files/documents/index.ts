export * from './documents.js';
export * from './documents.module.js';
