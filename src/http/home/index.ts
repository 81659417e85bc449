export * from './home.module.js';
