import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { startService } from '../support/service.js';
import { Collector } from '../tracing/collector.js';

const SAY = { model: 'scripted', input: 'secret-of-the-input' };

let collector: Collector;

beforeEach(async () => {
  collector = await Collector.start();
});

afterEach(() => collector[Symbol.asyncDispose]());

describe('metrics for a collector', () => {
  it('metrics are sent to a collector at every interval and at a shutdown, and name the service', async () => {
    const clock = new FakeClock();
    const service = await startService({
      environment: {
        ...{ OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${collector.url}/of-metrics`, OTEL_METRICS_EXPORTER: 'otlp' },
        ...{ OTEL_METRIC_EXPORT_INTERVAL: 5000, OTEL_SERVICE_NAME: 'ours' },
      },
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
    });
    for (const count of [1, 2]) {
      clock.advance(5000);
      await collector.received(count);
    }
    await service.client().responses.create(SAY);
    await service.close();
    expect(collector.bodies).toHaveLength(3);
    expect(collector.paths).toEqual(Array(3).fill('/of-metrics'));
    const last = collector.bodies.at(-1)?.toString('latin1') ?? '';
    for (const part of ['service.name', 'ours', 'service.instance.id', 'antiphon_turns_total', 'scripted']) {
      expect(last).toContain(part);
    }
    expect(last).toContain('antiphon_turn_duration_seconds');
    expect(last).not.toContain(SAY.input);
  });

  it('a collector that fails is a warning', async () => {
    collector.status = 400;
    const clock = new FakeClock();
    await using service = await startService({
      environment: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRICS_EXPORTER: 'otlp' },
      providers: [ScriptedProvider],
      overrides: [[Clock, clock]],
    });
    using log = ServiceLog.begin();
    clock.advance(60_000);
    await collector.received();
    while (log.complaints.length === 0) await new Promise(setImmediate);
    expect(log.complaints.join()).toMatch(/metrics could not be exported/);
    expect(collector.paths).toEqual(['/v1/metrics']);
    expect((await service.client().responses.create(SAY)).status).toBe('completed');
  });

  it('metrics for a collector need the address of one', async () => {
    await expect(startService({ environment: { OTEL_METRICS_EXPORTER: 'otlp' } })).rejects.toThrow(
      'OTEL_METRICS_EXPORTER: otlp needs OTEL_EXPORTER_OTLP_ENDPOINT',
    );
  });
});
