import type * as Api from '@opentelemetry/api';
import type * as Sdk from '@opentelemetry/sdk-metrics';
import type { DataPoint, Histogram, MetricData } from '@opentelemetry/sdk-metrics';
import type { MetricObjectWithValues, MetricValue, MetricValueWithName } from 'prom-client';

import { toHrTime } from '../tracing/index.js';

/** A metric as prom-client gives it. */
export type Registered = MetricObjectWithValues<MetricValue<string>>;

/** The time that counts are of, milliseconds since the epoch. */
export interface Period {
  readonly from: number;
  readonly to: number;
}

/** What is used of the libraries, which are loaded only where metrics are exported. */
export type Names = Pick<typeof Sdk, 'AggregationTemporality' | 'DataPointType'> & Pick<typeof Api, 'ValueType'>;

type Labels = MetricValue<string>['labels'];

/**
 * The metrics of a registry of prom-client for OpenTelemetry, under the same names. Summaries, which there are none of, are left out.
 */
export function toOtlp(metrics: readonly Registered[], period: Period, names: Names): MetricData[] {
  return metrics.flatMap((metric) => {
    const data = toData(metric, period, names);
    return data === undefined || data.dataPoints.length === 0 ? [] : [data];
  });
}

function toData({ name, help, type, values }: Registered, period: Period, names: Names): MetricData | undefined {
  const { AggregationTemporality, DataPointType, ValueType } = names;
  const common = {
    descriptor: { name, description: help, unit: '', valueType: ValueType.DOUBLE },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  const numbers = (): DataPoint<number>[] => values.map(({ labels, value }) => toPoint(labels, value, period));
  // Of prom-client's declarations an enumeration, of its program a text.
  switch (String(type)) {
    case 'counter':
      return { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: numbers() };
    case 'gauge':
      return { ...common, dataPointType: DataPointType.GAUGE, dataPoints: numbers() };
    case 'histogram':
      return { ...common, dataPointType: DataPointType.HISTOGRAM, dataPoints: toHistograms(values, period) };
    default:
      return undefined;
  }
}

/** Puts the samples of each series together: those of its buckets, in ascending order, its sum and its count. */
function toHistograms(samples: readonly MetricValueWithName<string>[], period: Period): DataPoint<Histogram>[] {
  const series = new Map<string, { labels: Labels; bounds: number[]; counts: number[]; below: number; sum: number }>();
  for (const { metricName = '', labels, value } of samples) {
    const { le, ...own } = labels as Labels & { readonly le?: string | number };
    const key = JSON.stringify(own);
    const found = series.get(key) ?? { labels: own, bounds: [], counts: [], below: 0, sum: 0 };
    series.set(key, found);
    if (metricName.endsWith('_sum')) found.sum = value;
    if (le === undefined) continue;
    if (le !== '+Inf') found.bounds.push(Number(le));
    // Prometheus counts what is in smaller buckets, too.
    found.counts.push(value - found.below);
    found.below = value;
  }
  return [...series.values()].map(({ labels, bounds, counts, below, sum }) =>
    toPoint(labels, { buckets: { boundaries: bounds, counts }, sum, count: below }, period),
  );
}

function toPoint<T>(labels: Labels, value: T, { from, to }: Period): DataPoint<T> {
  return { startTime: toHrTime(from), endTime: toHrTime(to), attributes: { ...labels }, value };
}
