export * from './model-list.js';
export * from './read-models.js';
