/**
 * Loaded before a program with `--import`. Reports, on request, the CPU time of the process (all threads, user and kernel mode)
 * and its memory usage.
 */
import { collectGarbage } from './collect-garbage.ts';
import type { MemoryAnswer, UsageAnswer } from './messages.ts';

process.on('message', ({ type }: { readonly type: string }) => {
  if (type === 'usage') process.send?.(toUsage());
  if (type === 'memory') process.send?.(toMemory());
});

// Exits with the benchmark, which may be killed before it can end this process.
process.once('disconnect', () => process.exit());

function toUsage(): UsageAnswer {
  const { user, system } = process.cpuUsage();
  return { type: 'usage', cpuMicroseconds: user + system };
}

function toMemory(): MemoryAnswer {
  collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { type: 'memory', rssBytes: rss, heapBytes: heapUsed + external };
}
