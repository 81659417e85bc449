export type { Configuration } from './configuration.js';
export * from './configured-providers.js';
export * from './random.js';
export * from './route-table.js';
export { RoutedProvider } from './routed-provider.js';
export { TargetHealth } from './target-health.js';
export type { Destination } from './target.js';
