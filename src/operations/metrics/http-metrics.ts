import type { FastifyInstance } from 'fastify';

import { type Metrics, SHORT } from './metrics.js';

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
