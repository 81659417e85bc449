export { SqliteBackend } from './sqlite-backend.js';
