export type * from './count-options.js';
export * from './cut-text.js';
export * from './encode-text.js';
export * from './token-counter.js';
export * from './tokenizer.js';
