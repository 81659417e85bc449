export * from './simulator-options.js';
export * from './simulator.provider.js';
