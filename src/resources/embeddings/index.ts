export { EmbeddingsModule } from './embeddings.module.js';
export { EmbeddingObserver, type EmbeddingRecord } from './embedding-observer.js';
export { type EmbeddingQuestion, EmbeddingsService } from './embeddings.service.js';
