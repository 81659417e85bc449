export { RedisBackend } from './backend.js';
