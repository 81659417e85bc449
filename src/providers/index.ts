export * from './model-error.js';
export * from './model-event.js';
export * from './model-provider.js';
export * from './token-counter.js';
export * from './turn.js';
export * from './provider-registry.js';
export * from './providers.module.js';
