export * from './error-frame.js';
export * from './errors.js';
export * from './estimate-bytes.js';
export * from './events.js';
export * from './ids.js';
export * from './list-object.js';
export * from './usage.js';
export * from './wire.js';
