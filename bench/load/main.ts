/** The load generator. */
import { runAgents } from './agents.ts';
import { drain, runJson, runStreams, runTools } from './http.ts';
import { runSockets } from './sockets.ts';

const RUNNERS = { sse: runStreams, json: runJson, socket: runSockets, agents: runAgents, tools: runTools, drain };

/** What runs each kind of job. */
export type Runners = typeof RUNNERS;

process.on('message', ({ type, job }: { readonly type: keyof Runners; readonly job: never }) => {
  // A failed job ends the process, and with it the benchmark, because its figures would be invalid.
  void RUNNERS[type](job).then((outcome) => process.send?.(outcome));
});
process.send?.({ type: 'ready' });
