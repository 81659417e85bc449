export type * from './options.js';
export type { Profile } from './profile.js';
export * from './responses.provider.js';
