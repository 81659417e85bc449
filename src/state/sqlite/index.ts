export { findVectorExtension } from './vector-extension.js';
export { SqliteBackend } from './backend.js';
