export { requireMetricsExporter } from './metrics-exporter.js';
export * from './metrics.module.js';
export { HttpMetrics } from './reported-metrics.js';
