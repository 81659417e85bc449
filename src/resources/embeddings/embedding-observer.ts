/** A request for embeddings that is over. */
export interface EmbeddingRecord {
  readonly model: string;
  readonly provider: string;
  /** `ok`, `disconnected` where the client has left, or `failed`. */
  readonly outcome: 'ok' | 'disconnected' | 'failed';
  readonly inputs: number;
  /** Tokens of the inputs that were embedded. */
  readonly tokens: number;
  readonly durationMs: number;
}

/** Is told of every request for embeddings when it is over; for metrics. */
export abstract class EmbeddingObserver {
  abstract ended(record: EmbeddingRecord): void;
}
