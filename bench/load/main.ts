/** The load generator: a process of its own, so that what it costs is not counted as the server's. */
import type { UsageQuestion } from '../processes/messages.ts';
import type { Job } from './job.ts';
import { runSse } from './sse.ts';

const RUNNERS = { sse: runSse };

process.on('message', (message: Job | UsageQuestion) => {
  // A job that fails ends the process, and with it the benchmark: its figures would mean nothing.
  if (message.type !== 'usage') void RUNNERS[message.type](message).then((outcome) => process.send?.(outcome));
});
