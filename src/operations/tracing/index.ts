export * from './describe-service.js';
export { requireSpanExporter } from './span-exporter.js';
export * from './tracing.module.js';
