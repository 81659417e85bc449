export { Webhooks } from './webhooks.js';
export * from './webhooks.module.js';
