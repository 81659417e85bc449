export { firstLineOf, parseDataFile, requireSchema } from './data-file.js';
export * from './config.module.js';
export * from './digest-of-key.js';
export * from './environment.js';
export * from './listen-address.js';
export * from './load-environment.js';
export * from './read-environment.js';
