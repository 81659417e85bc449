import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import type { Resource } from '@opentelemetry/resources';
import type { ResourceMetrics } from '@opentelemetry/sdk-metrics';

import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { readVersion } from '../../read-version.js';
import { requirePackages } from '../../require-packages.js';
import { Clock, LastWaits, type Timer } from '../../time/index.js';
import { describeService } from '../tracing/index.js';
import { Metrics } from './metrics.js';
import { type Names, toOtlp } from './to-otlp.js';

const NOT_EXPORTED = 'metrics could not be exported';

/** What is loaded to export metrics. */
const PACKAGES = [
  '@opentelemetry/api',
  '@opentelemetry/otlp-exporter-base',
  '@opentelemetry/otlp-transformer',
  '@opentelemetry/resources',
  '@opentelemetry/sdk-metrics',
];

/** Throws EnvironmentError where metrics are to be exported, and the libraries for it are not installed. */
export function requireMetricsExporter({ OTEL_METRICS_EXPORTER }: Environment): void {
  if (OTEL_METRICS_EXPORTER !== 'none') requirePackages(`OTEL_METRICS_EXPORTER=${OTEL_METRICS_EXPORTER}`, ...PACKAGES);
}

const SCOPE = { name: 'antiphon', version: readVersion() };

/** What is loaded only where metrics are exported. */
interface Opened {
  readonly names: Names;
  readonly delegate: IOtlpExportDelegate<ResourceMetrics>;
  readonly resource: Resource;
}

/**
 * Sends the metrics to a collector every OTEL_METRIC_EXPORT_INTERVAL, over OTLP. What cannot be sent is dropped, with a warning a minute: the next
 * ones have all counts again.
 */
@Injectable()
export class MetricsExporter implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger('Metrics'));
  private readonly startedAt: number;
  private open: Opened | null = null;
  private timer: Timer | null = null;

  constructor(
    @Inject(Metrics) private readonly metrics: Metrics | null,
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly lastWaits: LastWaits,
  ) {
    this.startedAt = clock.now();
  }

  /** Loads the libraries, if metrics are exported. Rejects with EnvironmentError where they are not installed. */
  async onApplicationBootstrap(): Promise<void> {
    const { OTEL_METRICS_EXPORTER, OTEL_METRIC_EXPORT_INTERVAL } = this.environment;
    if (OTEL_METRICS_EXPORTER === 'none') return;
    requireMetricsExporter(this.environment);
    const [{ AggregationTemporality, DataPointType }, { ValueType }, delegate, resource] = await Promise.all([
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/api'),
      openDelegate(this.environment),
      // Of several processes, each has its own counts.
      describeService(this.environment, { instance: true }),
    ]);
    this.open = { names: { AggregationTemporality, DataPointType, ValueType }, delegate, resource };
    this.timer = this.clock.schedule(OTEL_METRIC_EXPORT_INTERVAL, () => {
      void this.export();
      this.timer?.refresh();
    });
  }

  /** Sends what is measured now. Resolves when it has arrived or was dropped; never rejects. */
  async export(): Promise<void> {
    if (this.open === null || this.metrics === null) return;
    const { names, delegate, resource } = this.open;
    const registered = await this.metrics.registry.getMetricsAsJSON();
    const metrics = toOtlp(registered, { from: this.startedAt, to: this.clock.now() }, names);
    await new Promise<void>((done) => {
      delegate.export({ resource, scopeMetrics: [{ scope: SCOPE, metrics }] }, ({ error }) => {
        if (error !== undefined) this.outages.warn(NOT_EXPORTED, error.message);
        done();
      });
    });
  }

  async onApplicationShutdown(): Promise<void> {
    this.timer?.cancel();
    this.timer = null;
    const last = async (): Promise<void> => {
      await this.export();
      // The exporter waits for the exports that are under way.
      await this.open?.delegate.shutdown();
    };
    if (!(await this.lastWaits.wait(last())))
      this.outages.warn(NOT_EXPORTED, 'the service was shut down before they were');
  }
}

/** What the exporter of traces is made of: that of metrics would bring these packages in a second version. */
async function openDelegate(environment: Environment): Promise<IOtlpExportDelegate<ResourceMetrics>> {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: own } = environment;
  const [{ convertLegacyHttpOptions, createOtlpHttpExportDelegate }, transformer] = await Promise.all([
    import('@opentelemetry/otlp-exporter-base/node-http'),
    import('@opentelemetry/otlp-transformer'),
  ]);
  const url = own === '' ? `${base.replace(/\/+$/, '')}/v1/metrics` : own;
  const headers = { 'Content-Type': 'application/x-protobuf' };
  return createOtlpHttpExportDelegate(
    // Nothing else reads all variables of OpenTelemetry, such as those of headers and certificates; the exporter of traces calls it, too.
    // eslint-disable-next-line @typescript-eslint/no-deprecated
    convertLegacyHttpOptions({ url }, 'METRICS', 'v1/metrics', headers),
    transformer.ProtobufMetricsSerializer,
    'otlp_http_metric_exporter',
    transformer.MetricsExporterMetricsHelper,
    undefined,
  );
}
