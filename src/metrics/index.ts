export * from './http-metrics.js';
export * from './metrics.module.js';
