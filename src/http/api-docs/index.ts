export * from './api-docs.module.js';
