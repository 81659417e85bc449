export {
  faultsOf,
  firstLineOf,
  objectSchema,
  parseDataFile,
  parseSecretFile,
  requireSchema,
  SchemaError,
} from './data-file.js';
export * from './config.module.js';
export * from './environment.js';
export * from './environment-error.js';
export * from './keys.js';
export * from './addresses.js';
export * from './load-environment.js';
export * from './read-environment.js';
export * from './read-variables.js';
export * from './longest-shutdown.js';
export * from './redis-url.js';
export * from './references.js';
export * from './reloaded-file.js';
export * from './unread-variables.js';
export * from './variable-source.js';
export * from './variables.js';
