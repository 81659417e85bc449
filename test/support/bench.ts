import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Beyond it a program is told to end, and ends what it started. A busy machine is not a failure. */
export const BENCH_PATIENCE_MS = 3_600_000;

/** How a program of the benchmark ended, and all it wrote. */
export interface BenchRun {
  readonly code: number | string | null | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program of the benchmark to its end. */
export function runBench(program: 'main.ts' | 'write-page.ts', ...args: readonly string[]): Promise<BenchRun> {
  const path = fileURLToPath(new URL(`../../bench/${program}`, import.meta.url));
  return new Promise((resolve) => {
    execFile(process.execPath, [path, ...args], { timeout: BENCH_PATIENCE_MS }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : error.code, stdout, stderr });
    });
  });
}
