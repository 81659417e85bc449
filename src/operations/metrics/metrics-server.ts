import { createServer, type Server } from 'node:http';

import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment, EnvironmentError, listenAddress } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import { Metrics } from './metrics.js';

/** The variable that tells a worker its number, from 0; see src/operations/workers. */
const WORKER_NUMBER = 'ANTIPHON_WORKER';

const NOTHING_ELSE = ApiError.of(
  'unknown_url',
  'This port has only GET /metrics. The API is on the port of the service.',
);

/**
 * Serves the metrics on METRICS_PORT, without authentication: for Prometheus, on a network of its own. It closes last, so that a shutdown can
 * be watched.
 */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private server: Server | null = null;

  constructor(
    @Inject(Metrics) private readonly metrics: Metrics | null,
    private readonly environment: Environment,
  ) {}

  /** Throws EnvironmentError when the port cannot be listened on. */
  async onApplicationBootstrap(): Promise<void> {
    const { METRICS_PORT, METRICS_HOST } = this.environment;
    if (this.metrics === null || METRICS_PORT === 0) return;
    const { registry } = this.metrics;
    const server = createServer((request, reply) => {
      if (request.method !== 'GET' || !/^\/metrics(?:\?|$)/.test(request.url ?? '')) {
        const { status } = NOTHING_ELSE;
        reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(NOTHING_ELSE.toBody()));
        return;
      }
      registry.metrics().then(
        (text) => reply.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => reply.writeHead(500).end(),
      );
    });
    this.server = server;
    const port = METRICS_PORT + Number(process.env[WORKER_NUMBER] ?? 0);
    const host = METRICS_HOST === '' ? listenAddress(this.environment) : METRICS_HOST;
    await new Promise<void>((resolve, reject) => {
      server.once('error', ({ message }) => reject(new EnvironmentError([`METRICS_PORT: ${message}.`])));
      // Exclusive: the processes of a cluster would share the port, and one of them answer at random.
      server.listen({ port, host, exclusive: true }, resolve);
    });
    new Logger('Metrics').log(`metrics are served on port ${port}`);
  }

  onApplicationShutdown(): void {
    this.server?.close();
    this.server?.closeAllConnections();
  }
}
