/** The load generator, in a separate process, so that its cost is not attributed to the server. */
import type { MemoryQuestion, UsageQuestion } from '../processes/messages.ts';
import { runAgents } from './agents.ts';
import { drain } from './drain.ts';
import { timeFirstEvents } from './first-events.ts';
import { follow } from './follow.ts';
import { keepIdle } from './idle.ts';
import type { Job, OutcomeOf } from './job.ts';
import { runJson } from './json.ts';
import { runMixed } from './mixed.ts';
import { runSockets } from './sockets.ts';
import { runSse } from './sse.ts';
import { runTimed } from './timed.ts';

function run(job: Job): Promise<OutcomeOf[Job['type']]> {
  switch (job.type) {
    case 'sse':
      return runSse(job);
    case 'socket':
      return runSockets(job);
    case 'json':
      return runJson(job);
    case 'idle':
      return keepIdle(job);
    case 'timed':
      return runTimed(job);
    case 'agent':
      return runAgents(job);
    case 'mixed':
      return runMixed(job);
    case 'first events':
      return timeFirstEvents(job);
    case 'follow':
      return follow(job);
    case 'drain':
      return drain(job);
  }
}

process.on('message', (message: Job | UsageQuestion | MemoryQuestion) => {
  if (message.type === 'usage' || message.type === 'memory') return;
  // A failed job ends the process, and with it the benchmark, because its figures would be invalid.
  void run(message).then((outcome) => process.send?.(outcome));
});
process.send?.({ type: 'ready' });
