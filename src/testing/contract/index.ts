export { type ContractCase, providerContract } from './provider-contract.js';
export type { HangingTurn, ProviderSubject, TurnRequest } from './provider-subject.js';
