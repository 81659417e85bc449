export * from './adapter.js';
export * from './api-paths.js';
export * from './broken-requests.js';
export * from './http.module.js';
export * from './openai-headers.js';
export * from './read-body.js';
export * from './to-api-error.js';
