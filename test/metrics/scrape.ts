import { parse } from 'yaml';

/** The samples of a scrape: values by the text of name and labels, in the order of the exposition. */
export type Samples = ReadonlyMap<string, number>;

/** Reads the text format of Prometheus. */
export function readSamples(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );
}

/** The sum of all samples of a name whose labels contain the given ones. */
export function sumOf(samples: Samples, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  let sum = 0;
  for (const [sample, value] of samples) {
    const [own = '', inside = ''] = sample.split(/[{}]/);
    if (own === name && wanted.every((pair) => inside.split(',').includes(pair))) sum += value;
  }
  return sum;
}

/** Metrics as an operator of a PromQL expression names them, without the functions and words of the language. */
export function metricsIn(expression: string): readonly string[] {
  const names = expression.match(/\b(?:antiphon|nodejs|process)_[a-z0-9_]+/g) ?? [];
  return [...new Set(names)];
}

/** The label matchers of each metric of an expression. */
export function labelsIn(expression: string): readonly (readonly [metric: string, labels: readonly string[]])[] {
  return [...expression.matchAll(/\b((?:antiphon|nodejs|process)_[a-z0-9_]+)\{([^}]*)\}/g)].map(
    ([, metric = '', matchers = '']) => [
      metric,
      [...matchers.matchAll(/(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, name = '']) => name),
    ],
  );
}

/** The expressions of a file of alert rules. */
export function expressionsOfAlerts(text: string): readonly string[] {
  const { groups } = parse(text) as { groups: readonly { rules: readonly { expr: string }[] }[] };
  return groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
}
