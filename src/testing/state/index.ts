export * from './conversations.js';
export * from './deliveries.js';
export * from './open-memory.js';
export type { StateContractName } from './part.js';
export * from './records.js';
export * from './runs.js';
export { type ContractGroup, stateContract } from './state-contract.js';
export type { OpenedState, OptionalContract, StateSubject } from './state-subject.js';
export { type TestedState, withDefaults } from './tested-state.js';
