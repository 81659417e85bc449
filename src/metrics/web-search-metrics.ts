import { type WebRequestRecord, WebSearchObserver } from '../web-search/index.js';
import { LONG, type Metrics } from './metrics.js';

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
