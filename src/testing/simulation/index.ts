export { type Answer, call, customCall, fail, reasoning, refusal, text } from './answers.js';
export type { MatchedRequest, Matcher } from './matcher.js';
export { simulate, type SimulateOptions } from './simulate.js';
export { type FaultOptions, SimulatedSpace, Simulation } from './simulation.js';
