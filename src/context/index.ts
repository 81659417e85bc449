export * from './context.module.js';
export * from './compacted-context.js';
export * from './configuration.js';
export * from './context-resolver.js';
export * from './conversation-gate.js';
export * from './continuation.js';
export * from './continuation-cache.js';
export * from './continuation-caches.js';
export type { RecentOfTurn } from './recent-responses.js';
export * from './model-contexts.js';
export { holdsFiles } from './marks.js';
export * from './sealed-reasoning.js';
export * from './transcript.js';
export {
  dropOldest,
  holdsMedia,
  isInstruction,
  isMedia,
  isSetting,
  mayExceed,
  type UnfittedContext,
  validCuts,
} from './fit-context.js';
