import { readFile } from 'node:fs/promises';

import { beforeAll, describe, expect, it } from '@jest/globals';

import { useService } from '../support/describe-service.js';
import { registeredMetrics } from './registry.js';
import { expressionsOfAlerts, labelsIn, metricsIn } from './scrape.js';

const DEPLOY = new URL('../../deploy/', import.meta.url);
const DOCS = new URL('../../docs/', import.meta.url);

interface Dashboard {
  readonly panels: readonly { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }[];
}

/** A metric as its service describes it. */
interface Described {
  readonly type: string;
  readonly labels: ReadonlySet<string>;
}

const service = useService({ environment: { METRICS: true } });
const described = new Map<string, Described>();
let dashboard: Dashboard;
let alerts: string;

/** Labels that Prometheus adds to what it scrapes. */
const SCRAPED = ['job', 'instance'];

beforeAll(async () => {
  dashboard = JSON.parse(await readFile(new URL('grafana/antiphon.json', DEPLOY), 'utf8')) as Dashboard;
  alerts = await readFile(new URL('prometheus/alerts.yaml', DEPLOY), 'utf8');
  for (const metric of await registeredMetrics(service.app)) {
    described.set(metric.name, { type: metric.type, labels: new Set(metric.labels) });
  }
});

/** The metric that a series belongs to: histograms have three. */
function find(series: string): { readonly metric: Described; readonly isBucket: boolean } | undefined {
  const own = described.get(series);
  if (own !== undefined) return { metric: own, isBucket: false };
  const base = described.get(series.replace(/_(?:bucket|count|sum)$/, ''));
  return base?.type === 'histogram' ? { metric: base, isBucket: series.endsWith('_bucket') } : undefined;
}

describe.each([
  ['the dashboard', () => dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))],
  ['the alert rules', () => expressionsOfAlerts(alerts)],
])('%s', (_name, expressions) => {
  it('a dashboard asks only for metrics and labels that exist', () => {
    expect(expressions().length).toBeGreaterThan(5);
    for (const expression of expressions()) {
      expect({ expression, unknown: metricsIn(expression).filter((name) => find(name) === undefined) }).toEqual({
        expression,
        unknown: [],
      });
      for (const [series, labels] of labelsIn(expression)) {
        const known = find(series)?.metric.labels ?? new Set();
        const unknown = labels.filter((label) => !known.has(label) && !SCRAPED.includes(label));
        expect({ expression, unknown }).toEqual({ expression, unknown: [] });
      }
    }
  });

  it('a dashboard takes quantiles of buckets, and rates of counters', () => {
    for (const expression of expressions()) {
      const isQuantile = expression.includes('histogram_quantile');
      for (const series of metricsIn(expression)) {
        const found = find(series);
        expect({ expression, series, isBucket: found?.isBucket }).toEqual({ expression, series, isBucket: isQuantile });
        if (found?.metric.type === 'counter' || found?.metric.type === 'histogram') {
          expect(expression).toMatch(new RegExp(`(?:rate|increase)\\(${series}[{\\[]`));
        }
      }
      if (isQuantile) expect(expression).toMatch(/sum by \(le\b/);
    }
  });
});

it('every metric of the service is described in the documentation, with its type and labels', async () => {
  const page = await readFile(new URL('operations.md', DOCS), 'utf8');
  for (const [name, { type, labels }] of described) {
    if (!name.startsWith('antiphon_')) continue;
    const row = page.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
    expect({ name, row }).toEqual({ name, row: expect.stringContaining(`| ${type} |`) as unknown });
    for (const label of labels) expect(row).toContain(`\`${label}\``);
  }
});

it('every alert says what to do', async () => {
  const page = await readFile(new URL('operations.md', DOCS), 'utf8');
  // Absolute, as they are followed from elsewhere; of one address, so that one command replaces it.
  const links = [...alerts.matchAll(/runbook_url: https:\/\/docs\.example\.com\/antiphon\/operations\.md#(\S+)/g)].map(
    ([, anchor]) => anchor,
  );
  const names = [...alerts.matchAll(/alert: (\S+)/g)].map(([, name = '']) => name);
  expect(links).toEqual(names.map((name) => name.toLowerCase()));
  for (const name of names) expect(page).toContain(`### ${name}\n`);
});
