export * from './migrate.js';
export * from './backend.js';
