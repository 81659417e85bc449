import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const MAIN = fileURLToPath(new URL('../../bench/main.ts', import.meta.url));

/** Beyond it the benchmark is told to end, and ends what it started. */
const PATIENCE_MS = 25_000;

const SMALLEST = ['--streams', '4', '--deltas', '8', '--rounds', '1'];

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

  it('runs every case and writes what it measured', async () => {
    const file = join(folder, 'report.json');
    const { code, stdout, stderr } = await bench(...SMALLEST, '--json', file);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { machine, cases } = JSON.parse(await readFile(file, 'utf8')) as Report;
    expect(machine.node).toBe(process.version);
    expect(stdout).toContain(machine.cpu);
    expect(cases.map(({ name }) => name)).toEqual(['sse', 'simulator']);
    const comparisons = cases.flatMap((one) => one.comparisons);
    expect(comparisons.map(({ name }) => name)).toEqual(['sse, single', 'sse, burst', 'simulator']);
    for (const { name, figures } of comparisons) {
      expect(stdout).toContain(name);
      expect(figures.map((figure) => figure.name)).toContain('server CPU per event, µs');
      const values = figures.flatMap(({ ratio, service, floor }) =>
        [ratio, service, floor].flatMap(({ median, min, max, values }) => [median, min, max, ...values]),
      );
      expect(values.filter((value) => !(value > 0 && value < Infinity))).toEqual([]);
    }
  });

  it.each([
    [['--case', 'nothing'], /^--case: there is no 'nothing', but sse, simulator\n$/],
    [['--streams', '0'], /^--streams: expected a whole number above 0, but got '0'\n$/],
    [['--fast'], /^Unknown option '--fast'.*\n$/],
  ])('refuses %j in a line', async (args, line) => {
    const { code, stdout, stderr } = await bench(...args);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(line);
  });
});
