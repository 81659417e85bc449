export type { Configuration } from './configuration.js';
export * from './configured-providers.js';
export * from './random.js';
export type { ResponsesEntry } from './responses-entry.js';
export * from './route-table.js';
export { RoutedProvider } from './routed-provider.js';
export { TargetHealth } from './target-health.js';
export type { Destination } from './target.js';
export { responsesOptions } from './to-responses-options.js';
