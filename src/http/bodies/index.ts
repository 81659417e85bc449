export * from './bodies.module.js';
export * from './body-budget.js';
export * from './read-json.js';
