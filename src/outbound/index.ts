export * from './permitted-lookup.js';
export * from './public-urls.js';
