export { type CountOptions, encodeText } from './count.js';
export { cutText } from './cut-text.js';
export * from './token-counter.js';
export * from './tokenizer.js';
