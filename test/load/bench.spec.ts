// Slow: runs every case of the benchmark, each with several processes.

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { BENCH_PATIENCE_MS, runBench } from '../support/bench.js';
import { EVERY_STATE } from '../support/state-backends.js';

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly values: readonly number[];
}

interface Figure {
  readonly name: string;
  readonly ratio?: Spread;
  readonly service: Spread;
  readonly floor: Spread;
  readonly honest?: Spread & { readonly ratio?: Spread };
  readonly direct?: Spread & { readonly serviceAdds: Spread; readonly floorAdds: Spread };
}

interface Report {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly cases: readonly {
    readonly name: string;
    readonly comparisons: readonly { readonly name: string; readonly figures: readonly Figure[] }[];
  }[];
}

describe('the benchmark', () => {
  describe('in its smallest form', () => {
    let folder: string;
    let file: string;
    let stdout: string;
    let report: Report;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
      file = join(folder, 'report.json');
      const { stdout: text, ...end } = await runBench('main.ts', '--smallest', '--json', file);
      expect(end).toEqual({ code: 0, stderr: expect.stringMatching(/^(?:SKIPPED: .*\n)*$/) });
      stdout = text;
      report = JSON.parse(await readFile(file, 'utf8')) as Report;
    }, BENCH_PATIENCE_MS);

    afterAll(() => rm(folder, { recursive: true }));

    function comparisonsOf(name: string): Report['cases'][number]['comparisons'] {
      return report.cases.find((one) => one.name === name)?.comparisons ?? [];
    }

    it('the benchmark runs every case, and refuses another one in a line with their names', async () => {
      const names = report.cases.map(({ name }) => name);
      expect(await runBench('main.ts', '--case', 'nothing')).toEqual({
        code: 1,
        stdout: '',
        stderr: `--case: unknown case 'nothing', expected one of ${names.join(', ')}\n`,
      });
      expect(names).toEqual([...new Set(names)]);
      for (const name of names) expect(comparisonsOf(name)).not.toEqual([]);
      expect(report.machine.node).toBe(process.version);
    });

    it('the benchmark measures numbers only, and shows them', () => {
      for (const { name, figures } of report.cases.flatMap(({ comparisons }) => comparisons)) {
        expect(stdout).toContain(name);
        expect(figures).not.toEqual([]);
        for (const figure of figures) {
          expect(stdout).toContain(figure.name);
          const { ratio, service, floor, honest, direct } = figure;
          const sides = [ratio, service, floor, honest, honest?.ratio, direct];
          const values = sides.flatMap((side) => side?.values ?? []);
          expect([figure.name, ...values.filter((value) => !Number.isFinite(value))]).toEqual([figure.name]);
        }
      }
    });

    it.each([
      ['sse', ['sse, single', 'sse, burst']],
      ['ws', ['ws, single', 'ws, burst', 'ws, short turn']],
    ])('the benchmark sends in %s what its floors send', (name, comparisons) => {
      expect(comparisonsOf(name).map((comparison) => comparison.name)).toEqual(comparisons);
      for (const { figures } of comparisonsOf(name)) {
        const bytes = figures.find((figure) => figure.name === 'bytes per event');
        expect(bytes).toMatchObject({ floor: bytes?.service, honest: bytes?.service });
      }
    });

    it('the benchmark answers in one piece what its floors answer', () => {
      expect(comparisonsOf('json')).toHaveLength(2);
      for (const { figures } of comparisonsOf('json')) {
        const bytes = figures.find((figure) => figure.name === 'bytes per answer');
        expect(bytes).toMatchObject({ floor: bytes?.service });
      }
      const [bare] = comparisonsOf('json');
      const bytes = bare?.figures.find((figure) => figure.name === 'bytes per answer');
      expect(bytes?.honest).toMatchObject(bytes?.service ?? {});
    });

    it('the benchmark counts what turns make, where floors make no promises', () => {
      const names = comparisonsOf('turn-cost').map(({ name }) => name);
      expect(names).toEqual(['turn-cost, json', 'turn-cost, sse', 'turn-cost, ws']);
      for (const { figures } of comparisonsOf('turn-cost')) {
        const [promises, kilobytes] = figures;
        expect(promises).toMatchObject({ name: 'promises per turn', floor: { median: 0 }, honest: { median: 0 } });
        expect(promises?.service.median).toBeGreaterThan(0);
        expect(promises?.ratio ?? promises?.honest?.ratio).toBeUndefined();
        expect(kilobytes).toMatchObject({ name: 'kB allocated per turn', ratio: {}, honest: { ratio: {} } });
      }
    });

    it('the results of the benchmark can be shown by docs/benchmark.md', async () => {
      const { stderr } = await runBench('write-page.ts', file, '--check');
      expect(stderr).toBe(`docs/benchmark.md does not show ${file}: npm run bench:docs\n`);
    });

    it('the benchmark says whether goals are met, and fails for none', () => {
      expect(stdout).toMatch(/server CPU per event, µs .* ≤ 1\.30, (met|missed) .* ≤ 1\.30, (met|missed) /);
      expect(stdout).toMatch(/server CPU per request, µs .* ≤ 1\.80, (met|missed) /);
      expect(stdout).toMatch(/, service − direct .* ≤ 1\.00, (met|missed) /);
      expect(stdout).toMatch(/, service .* ≤ 32\.0, (met|missed) /);
      expect(stdout).toMatch(/, service − floor .* ≤ 70\.0, (met|missed) /);
    });

    it('the benchmark tells what is added to asking the upstream itself', () => {
      const names = ['relay, paced, 32 at once', 'relay, flat out, 32 at once'];
      expect(comparisonsOf('relay').map(({ name }) => name)).toEqual(names);
      for (const { name, figures } of comparisonsOf('relay')) {
        const times = figures.filter(({ direct }) => direct !== undefined);
        const percentiles = ['time to first delta', 'delay of a delta'].flatMap((time) => [
          ...[`${time}, p50, ms`, `${time}, p99, ms`],
        ]);
        expect(times.map((figure) => figure.name)).toEqual(name.includes('paced') ? percentiles : []);
        for (const { service, floor, direct } of times) {
          for (const [side, adds] of [
            [service, direct?.serviceAdds],
            [floor, direct?.floorAdds],
          ] as const) {
            const expected = side.median - (direct?.median ?? NaN);
            // What is written has six digits.
            expect(Math.abs((adds?.median ?? NaN) - expected)).toBeLessThan(1e-4 * side.median);
          }
        }
      }
    });

    it('the benchmark compares background turns with those in the foreground, with every backend', () => {
      const names = ['first event', 'turns', 'streams, flat out', 'streams, paced'];
      const expected = EVERY_STATE.flatMap(({ state }) => names.map((name) => `background, ${state}, ${name}`));
      expect(comparisonsOf('background').map(({ name }) => name)).toEqual(expected);
    });

    it('the benchmark compares stored turns by backend', () => {
      const ways = ['http', 'warm socket', 'http, 32 at once'];
      const others = EVERY_STATE.map(({ state }) => state).filter((state) => state !== 'memory');
      const pairs = others.map((state) => [state, 'memory']);
      if (others.includes('redis')) pairs.push(['redis', 'postgres']);
      expect(comparisonsOf('saves').map(({ name }) => name)).toEqual(
        pairs.flatMap(([service, floor]) => ways.map((way) => `saves, ${service} ÷ ${floor}, ${way}`)),
      );
    });

    it('the benchmark counts what turns ask the database: to save, since a process remembers their conversation', () => {
      const counts = comparisonsOf('chains').map(({ name, figures }) => {
        const roundTrips = figures.find((figure) => figure.name === 'database round trips per turn');
        // What the service asks beside its turns, for new connections and by timers, can only add to their count.
        return [name, ...[roundTrips?.service, roundTrips?.floor].map((side) => side && Math.floor(side.median))];
      });
      expect(counts).toEqual(
        EVERY_STATE.flatMap(({ state }) =>
          ['http', 'socket'].map((transport) => [
            `chains, ${state}, ${transport}, turn 6 ÷ turn 5`,
            ...(state === 'postgres' ? [1, 1] : [undefined, undefined]),
          ]),
        ),
      );
    });
  });

  it.each([
    [['--streams', '0'], /^--streams: expected a whole number above 0, but got '0'\n$/],
    [['--quick', '--smallest'], /^--smallest: cannot be combined with --quick\n$/],
    [['--report', 'a.json', '--quick'], /^--report: cannot be combined with options other than --compare\n$/],
    [['--compare', 'nothing.json'], /^nothing\.json: ENOENT.*\n$/],
    [['--report', 'package.json'], /^package\.json: not a report written with --json\n$/],
    [['--fast'], /^Unknown option '--fast'.*\n$/],
  ])('the benchmark refuses %j in a line', async (args, line) => {
    const { code, stdout, stderr } = await runBench('main.ts', ...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(line);
  });
});
