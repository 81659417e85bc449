export * from './backoff.js';
export * from './clock.js';
export * from './interrupts.js';
export * from './last-waits.js';
export * from './promises.js';
export * from './shared-clock.js';
