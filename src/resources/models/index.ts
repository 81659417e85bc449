export * from './models.module.js';
