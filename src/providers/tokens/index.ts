export * from './cut-text.js';
export * from './token-counter.js';
export * from './tokenizer.js';
