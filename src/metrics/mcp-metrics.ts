import { McpObserver, type McpRequestRecord } from '../mcp/index.js';
import { BoundedLabel } from './bounded-label.js';
import { LONG, type Metrics } from './metrics.js';

/** Counts and measures requests to MCP servers. */
export class McpMetrics extends McpObserver {
  private readonly tools = new BoundedLabel();
  private readonly requests;
  private readonly duration;

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
  }

  override ended({ server, kind, tool, outcome, durationMs }: McpRequestRecord): void {
    this.requests.inc({ server, kind, tool: tool === null ? '' : this.tools.of(tool), outcome });
    this.duration.observe(durationMs / 1000, server, kind);
  }
}
