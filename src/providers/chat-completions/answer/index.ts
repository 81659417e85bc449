export * from './answer-reader.js';
export * from './call-collector.js';
export type { ChatChunk } from './chat-chunk.js';
