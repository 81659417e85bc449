import type { FastifyInstance } from 'fastify';

import { EmbeddingObserver, type EmbeddingRecord } from '../../resources/embeddings/index.js';
import { type McpApprovalStep, McpObserver, type McpRequestRecord } from '../../tools/mcp/index.js';
import { type IndexRecord, VectorObserver, type VectorSearchRecord } from '../../files/vector-stores/index.js';
import { StateCallObserver } from '../../state/index.js';
import { type WebRequestRecord, WebSearchObserver } from '../../tools/web-search/index.js';
import { BoundedLabel } from './bounded-label.js';
import { LONG, type Metrics, SHORT } from './metrics.js';

/** Counts and measures HTTP requests, by the pattern of their route: URLs would be series without end. */
export class HttpMetrics {
  private readonly requests;

  constructor(metrics: Metrics) {
    this.requests = metrics.histogram(
      'antiphon_http_request_seconds',
      'Duration of HTTP requests up to the last byte; their count by route, method and status.',
      ['route', 'method', 'status'] as const,
      SHORT,
    );
  }

  /** Measures the requests of an application from now on. */
  observe(fastify: FastifyInstance): void {
    fastify.addHook('onResponse', (request, reply, done) => {
      const route = request.routeOptions.url ?? 'none';
      this.requests.observe(reply.elapsedTime / 1000, route, request.method, String(reply.statusCode));
      done();
    });
  }
}

/** Measures the calls of the state. */
export class StateMetrics extends StateCallObserver {
  private readonly calls;

  constructor(metrics: Metrics) {
    super();
    this.calls = metrics.histogram(
      'antiphon_state_call_seconds',
      'Duration of the calls of the state.',
      ['operation', 'outcome'] as const,
      SHORT,
    );
  }

  override called(operation: string, outcome: string, durationMs: number): void {
    this.calls.observe(durationMs / 1000, operation, outcome);
  }
}

/** Counts and measures requests to MCP servers, and counts approvals. */
export class McpMetrics extends McpObserver {
  private readonly tools = new BoundedLabel();
  private readonly requests;
  private readonly duration;
  private readonly approvals;

  constructor(metrics: Metrics) {
    super();
    this.requests = metrics.counter('antiphon_mcp_requests_total', 'Calls and lists of MCP servers that are over.', [
      'server',
      'kind',
      'tool',
      'outcome',
    ] as const);
    this.duration = metrics.histogram(
      'antiphon_mcp_request_seconds',
      'Duration of calls and lists of MCP servers.',
      ['server', 'kind'] as const,
      LONG,
    );
    this.approvals = metrics.counter(
      'antiphon_mcp_approvals_total',
      'Approvals of calls of MCP servers that were asked for, and that were answered.',
      ['step'] as const,
    );
  }

  override ended({ server, kind, tool, outcome, durationMs }: McpRequestRecord): void {
    this.requests.inc({ server, kind, tool: tool === null ? '' : this.tools.of(tool), outcome });
    this.duration.observe(durationMs / 1000, server, kind);
  }

  override approval(step: McpApprovalStep): void {
    this.approvals.inc({ step });
  }
}

/** Counts and measures searches of the web, and pages that were read. */
export class WebSearchMetrics extends WebSearchObserver {
  private readonly requests;
  private readonly duration;

  constructor(metrics: Metrics) {
    super();
    const labels = ['engine', 'kind', 'outcome'] as const;
    this.requests = metrics.counter(
      'antiphon_web_requests_total',
      'Searches of the web, and pages read for models, that are over.',
      labels,
    );
    this.duration = metrics.histogram(
      'antiphon_web_request_seconds',
      'Duration of searches of the web, and of reading pages.',
      ['engine', 'kind'] as const,
      LONG,
    );
  }

  override ended({ engine, kind, outcome, durationMs }: WebRequestRecord): void {
    this.requests.inc({ engine, kind, outcome });
    this.duration.observe(durationMs / 1000, engine, kind);
  }
}

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
