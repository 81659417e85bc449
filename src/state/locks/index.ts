export * from './locks.module.js';
export * from './write-gate.js';
