export * from './bytes-taken.js';
export { ClientSocket } from './client-socket.js';
export { Connection, connectionOf, type Upgraded } from './connection.js';
export { ConnectionRegistry } from './connection-registry.js';
export type { ConnectionWork, LaneSummary, StopCause } from './connection-work.js';
export { ConnectionsModule } from './connections.module.js';
export { SocketQuota, type SocketPlace } from './socket-quota.js';
