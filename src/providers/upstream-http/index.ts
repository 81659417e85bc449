export * from './event-stream.js';
export * from './patience.js';
export * from './read-text.js';
export * from './upstream-answer.js';
export * from './upstream-client.js';
