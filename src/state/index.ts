export * from './response-store.js';
export * from './state.module.js';
