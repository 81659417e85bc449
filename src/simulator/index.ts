export type { GeneratorName } from './answer/write-text.js';
export type { FaultKind, FaultRates } from './faults.js';
export type { Latency, LatencySetting } from './latency.js';
export * from './simulator-name.js';
export * from './simulator-options.js';
export * from './simulator.module.js';
export * from './simulator.provider.js';
