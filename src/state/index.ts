export * from './estimate-bytes.js';
export * from './response-store.js';
export * from './state.module.js';
