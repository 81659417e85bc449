export * from './model-lister.js';
