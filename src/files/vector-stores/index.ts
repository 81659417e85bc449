export { Reranker, type RerankOptions } from './vector-search.js';
export * from './vector-stores.module.js';
export * from './vector-observer.js';
