import { EmbeddingObserver, type EmbeddingRecord } from '../embeddings/index.js';
import { BoundedLabel } from './bounded-label.js';
import { LONG, type Metrics } from './metrics.js';

/** Counts and measures requests for embeddings. */
export class EmbeddingMetrics extends EmbeddingObserver {
  private readonly models = new BoundedLabel();
  private readonly requests;
  private readonly tokens;
  private readonly duration;

  constructor(metrics: Metrics) {
    super();
    const labels = ['model', 'provider'] as const;
    this.requests = metrics.counter('antiphon_embedding_requests_total', 'Requests for embeddings that are over.', [
      ...labels,
      'outcome',
    ] as const);
    this.tokens = metrics.counter('antiphon_embedding_tokens_total', 'Tokens of texts that were embedded.', labels);
    this.duration = metrics.histogram(
      'antiphon_embedding_request_seconds',
      'Duration of requests for embeddings.',
      labels,
      LONG,
    );
  }

  override ended({ model: name, provider, outcome, tokens, durationMs }: EmbeddingRecord): void {
    const model = this.models.of(name);
    this.requests.inc({ model, provider, outcome });
    this.tokens.inc({ model, provider }, tokens);
    this.duration.observe(durationMs / 1000, model, provider);
  }
}
