export * from './key-ring.js';
export * from './seals.js';
