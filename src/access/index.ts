export * from './access.module.js';
export * from './api-key.guard.js';
export * from './authenticate.js';
export * from './authenticator.js';
export * from './tenant.js';
