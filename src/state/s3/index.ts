export * from './bucket.js';
export * from './files.js';
