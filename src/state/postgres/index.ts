export * from './migrate.js';
export * from './postgres-backend.js';
