import { Global, Module } from '@nestjs/common';

import { BodiesModule } from '../../http/bodies/index.js';
import { Environment } from '../../config/index.js';
import { ConnectionsModule } from '../../connections/index.js';
import { ContextModule } from '../../context/index.js';
import { FilesModule } from '../../files/index.js';
import { EmbeddingObserver } from '../../resources/embeddings/index.js';
import { McpObserver } from '../../tools/mcp/index.js';
import { OperationsModule } from '../index.js';
import { ResponsesModule } from '../../responses/index.js';
import { StateCallObserver, StateModule } from '../../state/index.js';
import { VectorObserver } from '../../files/vector-stores/index.js';
import { WebSearchObserver } from '../../tools/web-search/index.js';
import { MetricsController, MetricsSwitch } from './metrics.controller.js';
import { MetricsExporter } from './metrics-exporter.js';
import { MetricsServer } from './metrics-server.js';
import { Metrics } from './metrics.js';
import { ProcessMetrics } from './process-metrics.js';
import {
  EmbeddingMetrics,
  HttpMetrics,
  McpMetrics,
  StateMetrics,
  VectorMetrics,
  WebSearchMetrics,
} from './reported-metrics.js';
import { TurnMetrics } from './turn-metrics.js';

/** What other modules report to, and what counts it; null without metrics. */
const REPORTERS = [
  [StateCallObserver, StateMetrics],
  [McpObserver, McpMetrics],
  [EmbeddingObserver, EmbeddingMetrics],
  [WebSearchObserver, WebSearchMetrics],
  [VectorObserver, VectorMetrics],
  [HttpMetrics, HttpMetrics],
] as const;

/** The registry, which other modules report to. Apart from MetricsModule, whose gauges read those modules. */
@Global()
@Module({
  providers: [
    { provide: Metrics, inject: [Environment], useFactory: (environment: Environment) => Metrics.open(environment) },
    ...REPORTERS.map(([provide, Reporter]) => ({
      provide,
      inject: [Metrics],
      useFactory: (metrics: Metrics | null) => metrics && new Reporter(metrics),
    })),
  ],
  exports: [Metrics, ...REPORTERS.map(([provide]) => provide)],
})
class MetricsRegistryModule {}

/** Metrics for Prometheus: of turns, of the state, of the process. */
@Module({
  imports: [
    MetricsRegistryModule,
    BodiesModule,
    FilesModule,
    ConnectionsModule,
    ContextModule,
    OperationsModule,
    ResponsesModule,
    StateModule,
  ],
  controllers: [MetricsController],
  providers: [
    MetricsSwitch,
    MetricsServer,
    MetricsExporter,
    ProcessMetrics,
    {
      provide: TurnMetrics,
      inject: [Metrics, Environment],
      useFactory: (metrics: Metrics | null, { METRICS_TENANTS }: Environment) =>
        metrics && new TurnMetrics(metrics, METRICS_TENANTS),
    },
  ],
})
export class MetricsModule {}
