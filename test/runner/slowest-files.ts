import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

import type { AggregatedResult, TestResult } from '@jest/test-result';

const SHOWN = 10;

/** From here on a file says why it takes so long, ms: in a comment `// Slow: …`. */
const LONG_MS = 15_000;
const REASON = /^\/\/ Slow: (.+)$/m;

/** A jest reporter: the files that took longest, at the end of a run of many. */
export default class SlowestFiles {
  onRunComplete(_contexts: unknown, { testResults }: AggregatedResult): void {
    if (testResults.length <= SHOWN) return;
    const slowest = testResults.toSorted((one, other) => timeOf(other) - timeOf(one)).slice(0, SHOWN);
    process.stderr.write(`\nThe slowest files:\n${slowest.map(toLine).join('')}`);
  }
}

function timeOf({ perfStats }: TestResult): number {
  return perfStats.end - perfStats.start;
}

function toLine(result: TestResult): string {
  const seconds = `${(timeOf(result) / 1000).toFixed(1)} s`.padStart(8);
  const line = `${seconds}  ${relative(process.cwd(), result.testFilePath)}`;
  const reason =
    timeOf(result) < LONG_MS ? '' : (REASON.exec(readFileSync(result.testFilePath, 'utf8'))?.[1] ?? 'says not why');
  return `${line}${reason === '' ? '' : `: ${reason}`}\n`;
}
