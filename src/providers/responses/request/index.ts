export * from '../turn-state.js';
export * from './baseline.js';
export * from './connection-headers.js';
export * from './conversation.js';
export * from './to-frame.js';
export * from './to-request.js';
export * from './upstream-request.js';
