export type * from './options.js';
export { type Profile, PROFILES } from './profile.js';
export * from './responses.provider.js';
