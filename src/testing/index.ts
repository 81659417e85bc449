/** Test support for programs that extend Antiphon: `antiphon/testing`. */

export * from './contract/provider-contract.js';
export * from './contract/provider-subject.js';
export * from './events/index.js';
export * from './fake-clock.js';
export * from './mcp/index.js';
export * from './scripted-provider.js';
export * from './sequential-id-generator.js';
export * from './simulation/index.js';
export * from './web-search/index.js';
export {
  type ContractGroup,
  type OpenedState,
  type OptionalContract,
  stateContract,
  type StateContractName,
  type StateSubject,
} from './state/index.js';
