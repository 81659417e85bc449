export type * from './baseline.js';
export * from './baseline-after.js';
export * from './connection-headers.js';
export * from './conversation.js';
export * from './to-frame.js';
export * from './to-http-body.js';
export * from './to-request.js';
export * from './upstream-request.js';
