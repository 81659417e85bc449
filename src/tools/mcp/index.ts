export * from './mcp.module.js';
export * from './mcp-observer.js';
export * from './mcp-server.js';
export * from './mcp-servers.js';
export { OwnServers } from './own-servers.js';
export * from './server-tool.js';
export { namesUrlSecret, withoutUrlSecrets } from './url-secrets.js';
