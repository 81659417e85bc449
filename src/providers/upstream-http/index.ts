export * from './count-route.js';
export * from './event-stream.js';
export * from './exchange-timer.js';
export * from './read-text.js';
export * from './running-streams.js';
export * from './to-url.js';
export * from './upstream-answer.js';
export * from './upstream-client.js';
