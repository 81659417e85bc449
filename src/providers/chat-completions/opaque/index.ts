export * from './opaque-collector.js';
export * from './opaque-members.js';
export * from './own-data.js';
