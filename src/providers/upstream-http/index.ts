export * from './event-stream.js';
export * from './patience.js';
export * from './peek.js';
export * from './upstream-client.js';
