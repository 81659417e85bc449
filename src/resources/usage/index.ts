export * from './usage.module.js';
export { UsageRecorder } from './usage-recorder.js';
