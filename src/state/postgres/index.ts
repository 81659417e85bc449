export * from './migrate.js';
export * from './backend.js';
export type { DatabaseSettings } from './connection-options.js';
