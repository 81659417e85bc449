import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import { Metrics } from '../../src/operations/metrics/metrics.js';

/** A registered metric. */
export interface RegisteredMetric {
  readonly name: string;
  readonly type: string;
  readonly labels: readonly string[];
}

/** What an application measures, whether or not it has values yet. */
export async function registeredMetrics(app: NestFastifyApplication): Promise<readonly RegisteredMetric[]> {
  const { registry } = app.get(Metrics);
  const listed = await registry.getMetricsAsJSON();
  return listed.map(({ name, type }) => {
    const { labelNames } = registry.getSingleMetric(name) as unknown as { readonly labelNames: readonly string[] };
    return { name, type: String(type), labels: labelNames };
  });
}
