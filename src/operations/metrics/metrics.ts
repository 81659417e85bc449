import type * as PromClient from 'prom-client';
import type { Counter, Gauge, Metric, Registry } from 'prom-client';

import type { Environment } from '../../config/index.js';
import { Histogram } from './histogram.js';

/** What is used of the library. */
type Library = Pick<typeof PromClient, 'collectDefaultMetrics' | 'Counter' | 'Gauge' | 'Registry'>;

/** Upper bounds of short durations, seconds: from a millisecond to ten seconds. */
export const SHORT = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Upper bounds of the durations of turns, seconds: up to ten minutes. */
export const LONG = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];

/** Whether the service is measured. */
function isMeasured({ METRICS, METRICS_PORT, OTEL_METRICS_EXPORTER }: Environment): boolean {
  return METRICS || METRICS_PORT > 0 || OTEL_METRICS_EXPORTER === 'otlp';
}

/** The metrics of one application; injected as null where nothing is measured. Applications of one process have registries of their own. */
export class Metrics {
  readonly registry: Registry;

  private constructor(private readonly prom: Library) {
    this.registry = new prom.Registry();
    // Metrics of the process: CPU, memory, garbage collection, the delay of the event loop.
    prom.collectDefaultMetrics({ register: this.registry });
  }

  /** Null when the service is not measured: then the library is not even loaded. */
  static async open(environment: Environment): Promise<Metrics | null> {
    if (!isMeasured(environment)) return null;
    return new Metrics((await import('prom-client')).default);
  }

  counter<L extends string>(name: string, help: string, labelNames: readonly L[]): Counter<L> {
    return new this.prom.Counter({ name, help, labelNames, registers: [this.registry] });
  }

  histogram<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    buckets: readonly number[],
  ): Histogram<L> {
    const histogram = new Histogram({ name, help, labelNames, buckets });
    this.registry.registerMetric(histogram as unknown as Metric);
    return histogram;
  }

  /** A gauge whose value is read when the metrics are. */
  gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    collect: (gauge: Gauge<L>) => void | Promise<void>,
  ): void {
    new this.prom.Gauge({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        return collect(this);
      },
    });
  }

  /** A counter that is kept elsewhere, with the counts by label when the metrics are read. */
  countedElsewhere<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    read: () => Iterable<readonly [labels: Readonly<Partial<Record<L, string>>>, count: number]>,
  ): void {
    new this.prom.Counter({
      name,
      help,
      labelNames,
      registers: [this.registry],
      collect() {
        this.reset();
        for (const [labels, count] of read()) this.inc(labels as Partial<Record<L, string>>, count);
      },
    });
  }
}
