export * from './http-metrics.js';
export { requireMetricsExporter } from './metrics-exporter.js';
export * from './metrics.module.js';
