export { findVectorExtension } from './vector-extension.js';
export { SqliteBackend } from './backend.js';
export { FILE_NAME } from './open-database.js';
