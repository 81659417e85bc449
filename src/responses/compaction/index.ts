export * from './compacted-response.js';
export * from './compaction.policy.js';
export * from './compactor.js';
export * from './plan.js';
export * from './summarizer.js';
