export * from './access.module.js';
export * from './api-key.guard.js';
export * from './authenticate.js';
export * from './authenticator.js';
export * from './caller.js';
export * from './grant.js';
export * from './require-scope.js';
export * from './tenant.js';
