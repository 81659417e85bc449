export * from './open-web-client.js';
export * from './permitted-lookup.js';
export * from './public-urls.js';
export * from './read-bounded.js';
export type * from './web-client.js';
export * from './web-errors.js';
