import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';

import type { Test } from '@jest/test-result';
import type sequencer from '@jest/test-sequencer';
import type { TestSequencerOptions } from '@jest/test-sequencer';

// What a CommonJS package exports as its default is, to a module, the package.
const { default: Sequencer } = createRequire(import.meta.url)('@jest/test-sequencer') as typeof sequencer;

/** What a file says that takes more than 15 s: slowest-files.ts. Begun last, it would run on while the other workers have nothing to do. */
const SLOW = /^\/\/ Slow: /m;

/** What builds processes, or sends thousands of requests, and may take as long. */
const LONG = [/\/test\/load\//, /\/test\/cluster\//, /\/test\/process\//, /\/test\/robustness\//, /\/test\/state\//];

/**
 * Runs what takes long first, on a machine too that has never run the tests and so knows no times. In CI, files that take as long are
 * shuffled: none may need another one before it. `CI=true npm run test:only -- --seed=<seed>` repeats an order.
 */
export default class LongestFirst extends Sequencer {
  private readonly seed: number;
  private readonly root: string;

  constructor(options: TestSequencerOptions) {
    super(options);
    this.seed = options.globalConfig.seed;
    this.root = options.globalConfig.rootDir;
  }

  override sort(tests: Test[]): Test[] {
    const ranks = new Map(tests.map((test) => [test, toRank(test)]));
    const rank = (test: Test): number => ranks.get(test) ?? 0;
    return this.order(tests).toSorted((one, other) => rank(one) - rank(other));
  }

  private order(tests: Test[]): Test[] {
    if (process.env['CI'] === undefined) return super.sort(tests) as Test[];
    process.stderr.write(`Shuffled the files with --seed=${this.seed}\n`);
    const place = ({ path }: Test): string =>
      createHash('sha1')
        .update(`${this.seed} ${relative(this.root, path)}`)
        .digest('hex');
    return tests.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
  }
}

function toRank({ path }: Test): number {
  const kind = LONG.findIndex((pattern) => pattern.test(path));
  const rank = kind === -1 ? LONG.length : kind;
  return SLOW.test(readFileSync(path, 'utf8')) ? rank : rank + LONG.length + 1;
}
