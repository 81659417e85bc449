export * from './tracing.module.js';
