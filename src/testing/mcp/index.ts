export * from './fake-mcp-server.js';
