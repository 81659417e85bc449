export { ErrorEventFilter } from './error-event.filter.js';
export { SocketAdapter } from './socket-adapter.js';
