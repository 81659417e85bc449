export { EmbeddingsModule } from './embeddings.module.js';
export {
  EmbeddingObserver,
  type EmbeddingQuestion,
  type EmbeddingRecord,
  EmbeddingsService,
} from './embeddings.service.js';
