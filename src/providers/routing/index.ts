export type { Configuration } from './create-providers.js';
export * from './configured-providers.js';
export { matchesGlob } from './matches-glob.js';
export * from './random.js';
export { type ResponsesEntry, responsesOptions } from './responses-kind.js';
export * from './route-table.js';
export { RoutedProvider } from './routed-provider.js';
export { type Destination, TargetHealth } from './target.js';
