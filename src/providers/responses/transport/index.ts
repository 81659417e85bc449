export * from './answer-refused-error.js';
export { isNetworkError, unanswered } from './broken.js';
export type * from './exchange.js';
export * from './open-fixture.js';
export * from './open-sse.js';
export type * from './pool-options.js';
export * from './socket-pool.js';
export * from './upstream-socket.js';
