export { ProviderContractError } from './output-item.js';
export * from './response-assembler.js';
export type { Outcome } from './response-snapshot.js';
