export * from './session-gate.js';
export * from './session-id.js';
export * from './sessions.module.js';
export * from './sessions.service.js';
