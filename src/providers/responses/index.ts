export type * from './options.js';
export * from './profile.js';
export * from './responses.provider.js';
