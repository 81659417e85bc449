import { type IndexRecord, VectorObserver, type VectorSearchRecord } from '../vector-stores/index.js';
import { LONG, type Metrics } from './metrics.js';

/** Counts and measures what vector stores do. */
export class VectorMetrics extends VectorObserver {
  private readonly files;
  private readonly chunks;
  private readonly indexing;
  private readonly searches;
  private readonly searching;

  constructor(metrics: Metrics) {
    super();
    const outcome = ['outcome'] as const;
    this.files = metrics.counter('antiphon_indexed_files_total', 'Files of vector stores that were indexed.', outcome);
    this.chunks = metrics.counter('antiphon_indexed_chunks_total', 'Chunks of these files.', []);
    this.indexing = metrics.histogram('antiphon_index_file_seconds', 'Duration of indexing a file.', [], LONG);
    this.searches = metrics.counter('antiphon_vector_searches_total', 'Searches of vector stores.', outcome);
    this.searching = metrics.histogram('antiphon_vector_search_seconds', 'Duration of these searches.', [], LONG);
  }

  override indexed({ outcome, chunks, durationMs }: IndexRecord): void {
    this.files.inc({ outcome });
    this.chunks.inc({}, chunks);
    this.indexing.observe(durationMs / 1000);
  }

  override searched({ outcome, durationMs }: VectorSearchRecord): void {
    this.searches.inc({ outcome });
    this.searching.observe(durationMs / 1000);
  }
}
