export * from './create-logger.js';
export * from './escape.js';
export * from './line-budget.js';
export * from './log-line.js';
export * from './lost-lines.js';
export * from './outage-log.js';
export * from './program-log.js';
