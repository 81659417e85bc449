export * from './mcp-calls.js';
export * from './own-tool-items.js';
export * from './transcript-digest.js';
export * from './transcript-place.js';
