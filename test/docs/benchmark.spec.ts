import { describe, expect, it } from '@jest/globals';

import { runBench } from '../support/bench.js';

describe('the figures of docs/benchmark.md', () => {
  it('the figures of docs/benchmark.md are those of bench/results.json', async () => {
    const run = await runBench('write-page.ts', 'bench/results.json', '--check');
    expect(run).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each([
    [[], /^expected one file, written by `--json`\n$/],
    [['nothing.json'], /^nothing\.json: ENOENT.*\n$/],
    [['package.json'], /^package\.json: not a report written with --json\n$/],
  ])('the page of the benchmark refuses %j in a line', async (args, line) => {
    const { code, stderr } = await runBench('write-page.ts', ...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(line);
  });
});
