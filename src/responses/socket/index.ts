export { CLIENT_FRAMES } from './client-frames.js';
export { ErrorEventFilter } from './error-event.filter.js';
export { SocketAdapter } from './socket-adapter.js';
