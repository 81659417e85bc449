export {
  faultsOf,
  firstLineOf,
  parseDataFile,
  parseSecretFile,
  requireSchema,
  SchemaError,
  type SchemaViolation,
} from './data-file.js';
export * from './config.module.js';
export * from './digest-of-key.js';
export * from './environment.js';
export * from './environment-error.js';
export * from './has-credentials.js';
export * from './is-safe-url.js';
export * from './listen-address.js';
export * from './load-environment.js';
export * from './read-environment.js';
export * from './read-variables.js';
export * from './longest-shutdown.js';
export * from './networks.js';
export * from './public-address.js';
export * from './redis-url.js';
export * from './references.js';
export * from './reloaded-file.js';
export * from './unread-variables.js';
export * from './variable-source.js';
export * from './variables.js';
export * from './watched-file.js';
export { readSealKey, SEAL_KEY_BYTES } from './seal-keys.js';
