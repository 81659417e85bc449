export { SqliteBackend } from './backend.js';
