import { readFileSync } from 'node:fs';
import { relative } from 'node:path';

import type { AggregatedResult, TestResult } from '@jest/test-result';

const SHOWN = 10;

/** From here on a file says why it takes so long, ms: in a comment `// Slow: …`. */
const LONG_MS = 15_000;
const REASON = /^\/\/ Slow: (.+)$/m;

/** What runtime.ts adds to what jest knows of a file: the CPU of its worker and of the processes that it started, ms. */
type Measured = TestResult & { readonly cpuMs?: number };

/** A jest reporter: the files that took longest, at the end of a run of many, with the CPU that they used. */
export default class SlowestFiles {
  onRunComplete(_contexts: unknown, { testResults }: AggregatedResult): void {
    if (testResults.length <= SHOWN) return;
    const slowest = testResults.toSorted((one, other) => timeOf(other) - timeOf(one)).slice(0, SHOWN);
    const all = testResults.reduce((sum, result) => sum + cpuOf(result), 0);
    process.stderr.write(
      `\nThe slowest files, and their CPU (${seconds(all)} of all):\n${slowest.map(toLine).join('')}`,
    );
  }
}

function timeOf({ perfStats }: TestResult): number {
  return perfStats.end - perfStats.start;
}

function cpuOf({ cpuMs = 0 }: Measured): number {
  return cpuMs;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function toLine(result: TestResult): string {
  const times = [timeOf(result), cpuOf(result)].map((ms) => seconds(ms).padStart(8)).join('');
  const line = `${times}  ${relative(process.cwd(), result.testFilePath)}`;
  const reason =
    timeOf(result) < LONG_MS ? '' : (REASON.exec(readFileSync(result.testFilePath, 'utf8'))?.[1] ?? 'says not why');
  return `${line}${reason === '' ? '' : `: ${reason}`}\n`;
}
