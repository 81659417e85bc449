export * from './serve-as-worker.js';
export type { SiblingMessage } from './relay.js';
export { superviseWorkers } from './supervisor.js';
