import { Global, Module } from '@nestjs/common';

import { BodiesModule, BodyBudget } from '../../http/bodies/index.js';
import { Environment } from '../../config/index.js';
import { ConnectionRegistry, ConnectionsModule } from '../../connections/index.js';
import { ContextModule, ContinuationCaches } from '../../context/index.js';
import { FileBudget, FilesModule } from '../../files/index.js';
import { EmbeddingObserver } from '../../resources/embeddings/index.js';
import { McpObserver } from '../../tools/mcp/index.js';
import { OperationsModule, Readiness } from '../index.js';
import { ResponsesModule, RunningTurns } from '../../responses/index.js';
import { BackgroundRuns, StateCallObserver, StateModule } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { VectorObserver } from '../../files/vector-stores/index.js';
import { WebSearchObserver } from '../../tools/web-search/index.js';
import { HttpMetrics } from './http-metrics.js';
import { MetricsController, MetricsSwitch } from './metrics.controller.js';
import { MetricsExporter } from './metrics-exporter.js';
import { MetricsServer } from './metrics-server.js';
import { Metrics } from './metrics.js';
import { measureProcess } from './process-metrics.js';
import { StateMetrics } from './state-metrics.js';
import { EmbeddingMetrics, McpMetrics, VectorMetrics, WebSearchMetrics } from './tool-metrics.js';
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
    {
      provide: TurnMetrics,
      inject: [Metrics, Environment],
      useFactory: (metrics: Metrics | null, { METRICS_TENANTS }: Environment) =>
        metrics && new TurnMetrics(metrics, METRICS_TENANTS),
    },
    {
      provide: 'antiphon: process metrics',
      inject: [
        ...[Metrics, Environment, ConnectionRegistry, RunningTurns, ContinuationCaches],
        ...[BodyBudget, FileBudget, BackgroundRuns, Readiness, Clock],
      ],
      useFactory: (
        metrics: Metrics | null,
        environment: Environment,
        connections: ConnectionRegistry,
        runningTurns: RunningTurns,
        caches: ContinuationCaches,
        bodies: BodyBudget,
        files: FileBudget,
        runs: BackgroundRuns,
        readiness: Readiness,
        clock: Clock,
      ) => {
        const parts = { environment, connections, runningTurns, caches, bodies, files, runs, readiness, clock };
        if (metrics !== null) measureProcess(metrics, parts);
        return parts;
      },
    },
  ],
})
export class MetricsModule {}
