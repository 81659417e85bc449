export type { Latency, LatencySetting } from './latency.js';
export { FAULT_KINDS, type FaultKind, type FaultRates, type GeneratorName, SIMULATOR } from './names.js';
export * from './simulator-options.js';
export * from './simulator.module.js';
export * from './simulator-variables.js';
export * from './simulator.provider.js';
