export { FAULT_KINDS, type FaultKind, type FaultRates } from './fault-kinds.js';
export type { GeneratorName } from './generators.js';
export type { Latency, LatencySetting } from './latency.js';
export * from './simulator-name.js';
export * from './simulator-options.js';
export * from './simulator.module.js';
export * from './simulator-variables.js';
export * from './simulator.provider.js';
