export * from './permitted-lookup.js';
export * from './public-urls.js';
export * from './read-bounded.js';
