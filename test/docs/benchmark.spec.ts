import { describe, expect, it } from '@jest/globals';

import { runBench } from '../support/bench.js';

describe('the figures of docs/benchmark.md', () => {
  it('are those of bench/results.json', async () => {
    const run = await runBench('write-page.ts', 'bench/results.json', '--check');
    expect(run).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it.each([
    [[], /^expected one file, which `--json` wrote\n$/],
    [['nothing.json'], /^nothing\.json: ENOENT.*\n$/],
    [['package.json'], /^package\.json: this is not what the benchmark writes with --json\n$/],
  ])('refuses %j in a line', async (args, line) => {
    const { code, stderr } = await runBench('write-page.ts', ...args);
    expect(code).toBe(1);
    expect(stderr).toMatch(line);
  });
});
