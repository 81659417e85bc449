export * from './key-ring.js';
export { isOwnSeal } from './seal-prefix.js';
export * from './seals.js';
export * from './seals.module.js';
