import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

/** Beyond it the benchmark is told to end, and ends what it started. */
const PATIENCE_MS = 100_000;

const SMALLEST = [
  ...['--quick', '--streams', '4', '--deltas', '8', '--chain', '10', '--saves', '64', '--requests', '8'],
  ...['--most-streams', '32', '--rounds', '1'],
];

interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly values: readonly number[];
}

interface Figure {
  readonly name: string;
  readonly ratio: Spread;
  readonly service: Spread;
  readonly floor: Spread;
  readonly direct?: Spread & { readonly serviceAdds: Spread; readonly floorAdds: Spread };
}

interface Report {
  readonly machine: { readonly cpu: string; readonly cores: number; readonly node: string };
  readonly cases: readonly {
    readonly name: string;
    readonly comparisons: readonly { readonly name: string; readonly figures: readonly Figure[] }[];
  }[];
}

interface Run {
  readonly code: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

function bench(...args: readonly string[]): Promise<Run> {
  return new Promise((resolve) => {
    execFile(process.execPath, [MAIN, ...args], { timeout: PATIENCE_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}

describe('the benchmark', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  /** Runs one case and gives what it wrote: positive numbers only, and the table shows the same. */
  async function measure(name: string): Promise<Pick<Report, 'machine'> & Report['cases'][number]> {
    const file = join(folder, 'report.json');
    const { code, stdout, stderr } = await bench(...SMALLEST, '--case', name, '--json', file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { machine, cases } = JSON.parse(await readFile(file, 'utf8')) as Report;
    expect(cases.map((one) => one.name)).toEqual([name]);
    const comparisons = cases[0]?.comparisons ?? [];
    for (const text of [machine.cpu, ...comparisons.map((one) => one.name)]) expect(stdout).toContain(text);
    const values = comparisons.flatMap(({ figures }) =>
      figures.flatMap(({ ratio, service, floor, direct = ratio }) =>
        [ratio, service, floor, direct].flatMap(({ median, min, max, values }) => [median, min, max, ...values]),
      ),
    );
    expect(values.filter((value) => !(value > 0 && value < Infinity))).toEqual([]);
    return { machine, name, comparisons };
  }

  it.each([
    ['sse', 'server CPU per event, µs', ['sse, single', 'sse, burst']],
    ['simulator', 'server CPU per event, µs', ['simulator']],
    ['saves', 'saves per second', ['saves, 1 at once', 'saves, 32 at once']],
  ])('runs %s and writes what it measured', async (name, figure, names) => {
    const { machine, comparisons } = await measure(name);
    expect(machine.node).toBe(process.version);
    expect(comparisons.map((comparison) => comparison.name)).toEqual(names);
    for (const { figures } of comparisons) expect(figures.map((one) => one.name)).toContain(figure);
  });

  it('runs relay, and tells what is added to asking the upstream itself', async () => {
    const { comparisons } = await measure('relay');
    const names = ['paced', 'flat out'].flatMap((pace) => [1, 32].map((count) => `relay, ${pace}, ${count} at once`));
    expect(comparisons.map(({ name }) => name)).toEqual(names);
    for (const { name, figures } of comparisons) {
      const times = figures.filter(({ direct }) => direct !== undefined);
      expect(times.map((figure) => figure.name)).toEqual(
        name.includes('paced')
          ? [
              'time to first delta, p50, ms',
              'time to first delta, p99, ms',
              'delay of a delta, p50, ms',
              'delay of a delta, p99, ms',
            ]
          : ['time per delta of a stream, p50, µs', 'time per delta of a stream, p99, µs'],
      );
      for (const { service, floor, direct } of times) {
        expect(direct?.serviceAdds.median).toBe(service.median - (direct?.median ?? NaN));
        expect(direct?.floorAdds.median).toBe(floor.median - (direct?.median ?? NaN));
      }
      expect(figures.map((figure) => figure.name)).toContain('server cores in use');
    }
  });

  it('counts what turns ask the database: over HTTP for their conversation, and to save', async () => {
    const { comparisons } = await measure('chains');
    const counts = comparisons.map(({ name, figures }) => {
      const roundTrips = figures.find((figure) => figure.name === 'database round trips per turn');
      return [name, ...[roundTrips?.service, roundTrips?.floor].map((side) => side && Math.round(side.median))];
    });
    expect(counts).toEqual([
      ['chains, memory, http, turn 1 ÷ turn 10', undefined, undefined],
      ['chains, memory, socket, turn 1 ÷ turn 10', undefined, undefined],
      ['chains, postgres, http, turn 1 ÷ turn 10', 1, 2],
      ['chains, postgres, socket, turn 1 ÷ turn 10', 1, 1],
    ]);
  });

  it.each([
    [['--case', 'nothing'], /^--case: there is no 'nothing', but sse, simulator, relay, chains, saves\n$/],
    [['--streams', '0'], /^--streams: expected a whole number above 0, but got '0'\n$/],
    [['--fast'], /^Unknown option '--fast'.*\n$/],
  ])('refuses %j in a line', async (args, line) => {
    const { code, stdout, stderr } = await bench(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(line);
  });
});
