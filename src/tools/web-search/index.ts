export * from './engine.js';
export * from './web-search.js';
export * from './web-search.module.js';
export type { WebPage } from './pages.js';
