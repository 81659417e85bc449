export type { Configuration } from './configuration.js';
export * from './configured-providers.js';
export { matchesGlob } from './matches-glob.js';
export * from './random.js';
export type { ResponsesEntry } from './responses-entry.js';
export * from './route-table.js';
export { RoutedProvider } from './routed-provider.js';
export { type Destination, TargetHealth } from './target.js';
export { responsesOptions } from './to-responses-options.js';
