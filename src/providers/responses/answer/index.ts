export * from './answer-reader.js';
export * from './header-events.js';
