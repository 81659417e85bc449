import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { runBench } from '../support/bench.js';

const MACHINE = { cpu: 'Abacus', cores: 2, system: 'linux', node: 'v24.0.0', date: '2026-11-20T00:00:00.000Z' };
const SIZES: Readonly<Record<string, number>> = { streams: 100, deltas: 200 };

/** A run by the ratios of its figures, round by round. */
type Ratios = Readonly<Record<string, readonly number[]>>;

function toSpread(values: readonly number[]): object {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: sorted[Math.floor(values.length / 2)], min: sorted[0], max: sorted.at(-1), values };
}

/** A case with what has no ratio, and with what has one against an honest floor as well. */
function toCase(count: number, ratio: number | null): object {
  const [promises, none, two] = [toSpread([count, count, count]), toSpread([0, 0, 0]), toSpread([2, 2, 2])];
  const honest = ratio === null ? undefined : { ...two, ratio: toSpread([ratio, ratio, ratio]) };
  const figures = [
    { name: 'promises', difference: promises, service: promises, floor: none, honest: honest && none },
    { name: 'kB', ratio: two, difference: none, service: two, floor: two, honest },
  ];
  return { name: 'turn-cost', comparisons: [{ name: 'turn-cost, sse', figures }] };
}

function toReport(ratios: Ratios, machine = MACHINE, sizes = SIZES, otherCases: readonly object[] = []): object {
  const figures = Object.entries(ratios).map(([name, values]) => {
    const [spread, floor] = [toSpread(values), toSpread(values.map(() => 1))];
    return { name, ratio: spread, difference: spread, service: spread, floor };
  });
  return { machine, sizes, cases: [{ name: 'sse', comparisons: [{ name: 'sse, single', figures }] }, ...otherCases] };
}

describe('a comparison of two runs', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  /** What is said of a run beside an earlier one, line by line. */
  async function compare(before: object, after: object): Promise<readonly string[]> {
    const [earlier, later] = [join(folder, 'before.json'), join(folder, 'after.json')];
    await writeFile(earlier, JSON.stringify(before));
    await writeFile(later, JSON.stringify(after));
    const { code, stdout, stderr } = await runBench('main.ts', '--report', later, '--compare', earlier);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.trim().split('\n');
    return lines.slice(lines.findIndex((line) => line.startsWith('Compared with')) + 1).filter((line) => line !== '');
  }

  it('a comparison of two runs names the ratios that moved by more than the noise, and no others', async () => {
    const before = { quiet: [2, 2.01, 1.99, 2.02, 1.98], noisy: [2, 1, 3, 1.2, 2.8], exact: [1, 1, 1] };
    const after = { quiet: [1.8, 1.81, 1.79, 1.82, 1.78], noisy: [1.8, 1, 3, 1.2, 2.8], exact: [1.02, 1.02, 1.02] };
    expect(await compare(toReport(before), toReport(after))).toEqual([
      'sse, single: quiet: 2.00 ± 0.0224 → 1.80 ± 0.0224 (−10 %)',
      'sse, single: exact: 1.00 ± 0.00 → 1.02 ± 0.00 (+2 %)',
      expect.stringMatching(/^2 of 3 ratios moved\. A ratio has moved if /),
    ]);
  });

  it('a comparison of two runs finds nothing in the same run, nor in what is of no interest', async () => {
    const same = { quiet: [2, 2.01, 1.99, 2.02, 1.98] };
    expect(await compare(toReport(same), toReport(same))).toEqual([expect.stringMatching(/^0 of 1 ratios moved\. /)]);
    const [before, after] = [toReport({ exact: [1, 1, 1] }), toReport({ exact: [1.009, 1.009, 1.009] })];
    expect(await compare(before, after)).toEqual([expect.stringMatching(/^0 of 1 ratios moved\. /)]);
  });

  it('a comparison of two runs does not judge what has too few rounds', async () => {
    const [before, after] = [toReport({ short: [1, 1] }), toReport({ short: [9, 9, 9] })];
    expect(await compare(before, after)).toEqual([
      expect.stringMatching(/^0 of 0 ratios moved\. /),
      '1 ratios have too few rounds to compare.',
    ]);
  });

  it('a comparison of two runs names what moved beside an honest floor, and counts that have no ratio', async () => {
    const [before, after] = [toCase(142, 2), toCase(34, 1.5)];
    expect(await compare(toReport({}, MACHINE, SIZES, [before]), toReport({}, MACHINE, SIZES, [after]))).toEqual([
      'turn-cost, sse: promises, service: 142 ± 0.00 → 34.0 ± 0.00 (−76 %)',
      'turn-cost, sse: kB, service ÷ honest floor: 2.00 ± 0.00 → 1.50 ± 0.00 (−25 %)',
      expect.stringMatching(/^2 of 3 ratios moved\. /),
    ]);
  });

  it('a comparison of two runs takes an earlier run that knows no honest floor, and not every size', async () => {
    const before = toReport({}, MACHINE, { deltas: 200 }, [toCase(34, null)]);
    expect(await compare(before, toReport({}, MACHINE, SIZES, [toCase(34, 1.5)]))).toEqual([
      expect.stringMatching(/^0 of 2 ratios moved\. /),
      'New:',
      '  turn-cost, sse: kB, service ÷ honest floor',
    ]);
  });

  it('a comparison of two runs says what is new, what is gone, and what else could be the reason', async () => {
    const before = toReport({ old: [1, 1, 1] }, MACHINE, SIZES, [{ name: 'chains', comparisons: [] }]);
    const after = toReport({ young: [1, 1, 1] }, { ...MACHINE, cores: 8 }, { ...SIZES, deltas: 8 });
    expect(await compare(before, after)).toEqual([
      '! another machine: cores was 2, is 8',
      '! another size: deltas was 200, is 8',
      expect.stringMatching(/^0 of 0 ratios moved\. /),
      'New:',
      '  sse, single: young',
      'Gone:',
      '  sse, single: old',
      '  the case chains',
    ]);
  });
});

it('a report whose floor has used nothing is shown without a ratio, and its goal without a verdict', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
  const path = join(folder, 'report.json');
  const [one, none] = [toSpread([1]), toSpread([0])];
  const figures = [{ name: 'memory', difference: one, service: one, floor: none }];
  const goals = ['ratio', 'service'].map((of) => ({ figure: 'memory', of, atMost: 2 }));
  const cases = [{ name: 'idle', comparisons: [{ name: 'idle, 20', figures, goals }] }];
  await writeFile(path, JSON.stringify({ machine: MACHINE, sizes: SIZES, cases }));
  const { code, stdout, stderr } = await runBench('main.ts', '--report', path);
  await rm(folder, { recursive: true });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout.match(/^idle, 20: memory.*$/gm)).toEqual([
    expect.stringMatching(/, service +1\.00 \(1\.00–1\.00\) +≤ 2\.00, met /),
    expect.stringMatching(/^idle, 20: memory +1\.00 \(1\.00–1\.00\) +0\.00 \(0\.00–0\.00\)$/),
  ]);
});

it('a run with --into replaces its cases in an earlier report, with their own machine, and keeps the others', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
  try {
    const file = join(folder, 'results.json');
    const stale = { name: 'doors', comparisons: [] };
    await writeFile(file, JSON.stringify(toReport({ kept: [1, 1, 1] }, MACHINE, SIZES, [stale])));
    const { code, stderr } = await runBench('main.ts', '--smallest', '--case', 'doors', '--into', file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const report = JSON.parse(await readFile(file, 'utf8')) as {
      readonly machine: object;
      readonly cases: readonly { readonly name: string; readonly machine?: object; readonly comparisons: object[] }[];
    };
    expect(report.machine).toEqual(MACHINE);
    expect(report.cases).toMatchObject([{ name: 'sse' }, { name: 'doors', machine: { node: process.version } }]);
    expect(report.cases.map(({ comparisons }) => comparisons.length)).toEqual([1, 4]);
  } finally {
    await rm(folder, { recursive: true });
  }
});
