import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import prom from 'prom-client';

import { Histogram } from './histogram.js';

const OPTIONS = { name: 'waits_seconds', help: 'How long.', labelNames: ['model', 'provider'], buckets: [0.1, 1, 10] };

/** What Prometheus reads, in any order: series stand in the order in which they came. */
async function linesOf(registry: prom.Registry): Promise<readonly string[]> {
  return (await registry.metrics()).split('\n').sort();
}

it('a histogram writes what the histogram of prom-client writes', async () => {
  const observations = fc.array(
    fc.record({
      value: fc.oneof(fc.constantFrom(0, 0.1, 1, 10, 10.5), fc.double({ min: 0, max: 20, noNaN: true })),
      model: fc.constantFrom('gpt-5', 'a"b', 'two\nlines', String.raw`back\slash`),
      provider: fc.constantFrom('simulator', 'acme'),
    }),
    { minLength: 1, maxLength: 30 },
  );
  await fc.assert(
    fc.asyncProperty(observations, async (all) => {
      const [ours, theirs] = [new prom.Registry(), new prom.Registry()];
      const histogram = new Histogram(OPTIONS);
      ours.registerMetric(histogram as unknown as prom.Metric);
      const reference = new prom.Histogram({ ...OPTIONS, registers: [theirs] });
      for (const { value, model, provider } of all) {
        histogram.observe(value, model, provider);
        reference.observe({ model, provider }, value);
      }
      expect(await linesOf(ours)).toEqual(await linesOf(theirs));
    }),
  );
});

it('a histogram forgets everything when its registry is reset', async () => {
  const registry = new prom.Registry();
  const histogram = new Histogram(OPTIONS);
  registry.registerMetric(histogram as unknown as prom.Metric);
  histogram.observe(1, 'gpt-5', 'simulator');
  registry.resetMetrics();
  expect(await registry.metrics()).not.toContain('gpt-5');
});
