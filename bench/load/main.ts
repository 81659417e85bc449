/** The load generator. */
import { runAgents } from './agents.ts';
import { drain, follow, runJson, runSse } from './http.ts';
import { runMixed } from './mixed.ts';
import { runSockets } from './sockets.ts';
import { runTimed } from './timed.ts';
import { runTools } from './tools.ts';

const RUNNERS = {
  sse: runSse,
  json: runJson,
  socket: runSockets,
  timed: runTimed,
  agents: runAgents,
  tools: runTools,
  follow,
  drain,
  mixed: runMixed,
};

/** What runs each kind of job. */
export type Runners = typeof RUNNERS;

process.on('message', ({ type, job }: { readonly type: keyof Runners; readonly job: never }) => {
  // A failed job ends the process, and with it the benchmark, because its figures would be invalid.
  void RUNNERS[type](job).then((outcome) => process.send?.(outcome));
});
process.send?.({ type: 'ready' });
