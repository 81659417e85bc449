export * from './answer-beginning.js';
export * from './answer-reader.js';
export * from './header-events.js';
