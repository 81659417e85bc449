/**
 * Loaded before a program of the benchmark (`--import`): tells the benchmark, when asked, how much CPU the process has used so
 * far, all threads, in user and kernel mode, and how much memory it needs. The program itself knows nothing of it.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

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

/** Only a flag that is set at run time leaves the process as it would be without the benchmark. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  // What the first one finds out to be dead may have held something that only the second one finds.
  collect();
  collect();
}
