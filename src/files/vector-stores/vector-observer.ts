/** A file that was indexed, or could not be. */
export interface IndexRecord {
  readonly outcome: 'completed' | 'failed' | 'dropped' | 'postponed';
  readonly chunks: number;
  readonly durationMs: number;
}

/** A search of vector stores that is over. */
export interface VectorSearchRecord {
  readonly outcome: 'ok' | 'failed' | 'aborted';
  readonly durationMs: number;
}

/** Is told of what vector stores do; for metrics. */
export abstract class VectorObserver {
  /**
   * `dropped`: it was cancelled or taken out meanwhile, or is left to another process; `postponed`: it could not be indexed at the moment,
   * and is tried again.
   */
  abstract indexed(record: IndexRecord): void;

  abstract searched(record: VectorSearchRecord): void;
}
