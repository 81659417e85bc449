export type { Writing } from './event-writer.js';
export * from './fold-events.js';
export { ProviderContractError, requireText } from './output-item.js';
export * from './response-assembler.js';
export type { FinalResponse, Outcome } from './response-snapshot.js';
export { type AssemblerNote, type AssemblerState, toFinish } from './state.js';
