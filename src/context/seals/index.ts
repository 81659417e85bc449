export * from './key-ring.js';
export * from './seals.js';
export * from './seals.module.js';
