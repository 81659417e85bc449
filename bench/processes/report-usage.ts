/**
 * Loaded before a program of the benchmark (`--import`): tells the benchmark, when asked, how much CPU the process has used so
 * far, all threads, in user and kernel mode, and how much memory it needs. The program itself knows nothing of it.
 */
import { collectGarbage } from './collect-garbage.ts';
import type { MemoryAnswer, UsageAnswer } from './messages.ts';

process.on('message', ({ type }: { readonly type: string }) => {
  if (type === 'usage') process.send?.(toUsage());
  if (type === 'memory') process.send?.(toMemory());
});

// The benchmark may be killed before it can end anybody.
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
