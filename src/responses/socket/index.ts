export { SocketAdapter } from './socket-adapter.js';
