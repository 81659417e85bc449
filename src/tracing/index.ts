export { requireExporter } from './span-exporter.js';
export * from './tracing.module.js';
