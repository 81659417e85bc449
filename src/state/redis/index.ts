export { RedisBackend } from './redis-backend.js';
