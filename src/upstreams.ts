/**
 * Providers for upstream servers, as classes for programs to construct. Apart from the rest of the package, because they load an HTTP
 * client.
 */
export * from './providers/responses/index.js';
export { type ResponsesEntry, responsesOptions } from './providers/routing/index.js';
