export * from './mcp-calls.js';
export * from './transcript-digest.js';
export * from './transcript-place.js';
