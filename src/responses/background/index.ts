export * from './background-endings.js';
export * from './background-responses.js';
export * from './background-worker.js';
export * from './event-streams.js';
export { type EventStream, StreamGoneError } from './log-reader.js';
