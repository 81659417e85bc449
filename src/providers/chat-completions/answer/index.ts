export * from './answer-reader.js';
export * from './call-collector.js';
export * from './read-answer.js';
