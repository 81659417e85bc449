import { Injectable, Logger, type OnApplicationShutdown } from '@nestjs/common';
import type { Resource } from '@opentelemetry/resources';
import type { SpanProcessor } from '@opentelemetry/sdk-trace';

import type { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { requirePackages } from '../../require-packages.js';
import type { LastWaits } from '../../time/index.js';
import { describeService } from './describe-service.js';

/** What is loaded for traces. */
const PACKAGES = ['@opentelemetry/sdk-trace', '@opentelemetry/exporter-trace-otlp-proto', '@opentelemetry/resources'];

const NOT_EXPORTED = 'spans could not be exported';

/** Whether spans are exported. */
export function isTraced({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }: Environment): boolean {
  return OTEL_EXPORTER_OTLP_ENDPOINT !== '' || OTEL_EXPORTER_OTLP_TRACES_ENDPOINT !== '';
}

/** Throws EnvironmentError where spans are to be exported, and the libraries for it are not installed. */
export function requireSpanExporter(environment: Environment): void {
  if (isTraced(environment)) requirePackages('OTEL_EXPORTER_OTLP_ENDPOINT', ...PACKAGES);
}

/** Sends spans to a collector in batches, over OTLP. What it cannot send is dropped, with a warning a minute. */
@Injectable()
export class SpanExporter implements OnApplicationShutdown {
  private constructor(
    readonly processor: SpanProcessor,
    readonly resource: Resource,
    private readonly outages: OutageLog,
    private readonly lastWaits: LastWaits,
  ) {}

  /** Null when spans are not exported: then the libraries are not even loaded. Rejects with EnvironmentError where they are not installed. */
  static async open(environment: Environment, lastWaits: LastWaits): Promise<SpanExporter | null> {
    if (!isTraced(environment)) return null;
    requireSpanExporter(environment);
    const [{ BatchSpanProcessor }, { OTLPTraceExporter }, resource] = await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-trace-otlp-proto'),
      describeService(environment),
    ]);
    const { OTEL_EXPORTER_OTLP_ENDPOINT: base, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own } = environment;
    const exporter = new OTLPTraceExporter({ url: own === '' ? `${base.replace(/\/+$/, '')}/v1/traces` : own });
    const outages = new OutageLog(new Logger('Traces'));
    const processor = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) =>
          exporter.export(spans, (result) => {
            if (result.error !== undefined) outages.warn(NOT_EXPORTED, result.error.message);
            done(result);
          }),
        shutdown: () => exporter.shutdown(),
        forceFlush: () => exporter.forceFlush(),
      },
    });
    return new SpanExporter(processor, resource, outages, lastWaits);
  }

  async onApplicationShutdown(): Promise<void> {
    // What failed has been logged.
    const sent = this.processor.shutdown().catch(() => undefined);
    if (!(await this.lastWaits.wait(sent)))
      this.outages.warn(NOT_EXPORTED, 'the service was shut down before they were');
  }
}
