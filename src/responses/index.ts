export * from './admission.js';
export * from './admitted-turn.js';
export * from './responses.module.js';
export * from './responses.service.js';
export * from './running-turns.js';
export * from './stop-reason.js';
export * from './stored-responses.service.js';
export * from './turn-observer.js';
