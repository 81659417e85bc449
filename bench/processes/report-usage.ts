/**
 * Loaded before a program of the benchmark (`--import`): tells the benchmark, when asked, how much CPU the process has used so
 * far, all threads, in user and kernel mode. The program itself knows nothing of it.
 */
import type { UsageAnswer } from './messages.ts';

process.on('message', (question: { readonly type: string }) => {
  if (question.type !== 'usage') return;
  const { user, system } = process.cpuUsage();
  const answer: UsageAnswer = { type: 'usage', cpuMicroseconds: user + system };
  process.send?.(answer);
});

// The benchmark may be killed before it can end anybody.
process.once('disconnect', () => process.exit());
