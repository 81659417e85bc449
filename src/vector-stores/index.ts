export {
  type AttributeComparison,
  type AttributeFilter,
  attributeFilter,
  type CompoundFilter,
  passes,
} from './attribute-filter.js';
export { type HybridQuery, searchHybrid } from './hybrid-search.js';
export { Reranker, type RerankOptions } from './vector-search.js';
export * from './vector-stores.module.js';
export * from './vector-observer.js';
