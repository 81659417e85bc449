import { expect, it } from '@jest/globals';
import { ValueType } from '@opentelemetry/api';
import { AggregationTemporality, DataPointType } from '@opentelemetry/sdk-metrics';
import { Counter, Gauge, Registry } from 'prom-client';

import { Histogram } from './histogram.js';
import { toOtlp } from './to-otlp.js';

it('a request to a collector has the counts, values and buckets of a registry, by labels', async () => {
  const registry = new Registry();
  const registers = [registry];
  new Counter({ name: 'sold_total', help: 'Apples.', labelNames: ['kind'], registers }).inc({ kind: 'red' }, 3);
  new Gauge({ name: 'left', help: 'Pears.', registers }).set(7);
  new Gauge({ name: 'unknown', help: 'No value.', labelNames: ['kind'], registers });
  const weights = new Histogram({ name: 'weight', help: 'Grams.', labelNames: ['kind'], buckets: [100, 200] });
  for (const weight of [50, 150, 160, 500]) weights.observe(weight, 'red');
  weights.observe(120, 'green');
  registry.registerMetric(weights as never);

  const names = { AggregationTemporality, DataPointType, ValueType };
  const metrics = toOtlp(await registry.getMetricsAsJSON(), { from: 1_500, to: 4_000 }, names);
  const period = { startTime: [1, 500_000_000], endTime: [4, 0] };
  expect(metrics).toMatchObject([
    {
      descriptor: { name: 'sold_total', description: 'Apples.' },
      ...{ dataPointType: DataPointType.SUM, isMonotonic: true },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPoints: [{ ...period, attributes: { kind: 'red' }, value: 3 }],
    },
    { dataPointType: DataPointType.GAUGE, dataPoints: [{ attributes: {}, value: 7 }] },
    {
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: [
        {
          attributes: { kind: 'red' },
          value: { buckets: { boundaries: [100, 200], counts: [1, 2, 1] }, sum: 860, count: 4 },
        },
        {
          attributes: { kind: 'green' },
          value: { buckets: { boundaries: [100, 200], counts: [0, 1, 0] }, sum: 120, count: 1 },
        },
      ],
    },
  ]);
  expect(metrics).toHaveLength(3);
});
