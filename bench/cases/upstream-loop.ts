import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { AGENT_TURNS, LAST_AGENT_ITEMS } from './agent-loop.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { startServiceBefore, startUpstream } from './programs.ts';
import { RESPONSES_OVER_SSE, RESPONSES_OVER_WEBSOCKET } from './upstream-kinds.ts';

const LAST_BYTES = `bytes sent upstream at turn ${AGENT_TURNS}`;

/**
 * What the service sends to an upstream with the Responses API in an agent loop: new items over a WebSocket, compared with the whole
 * context over HTTP. Agents talk to the service in the same way on both sides.
 */
export const upstreamLoopCase: BenchmarkCase = {
  name: 'upstream-loop',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using upstream = await startUpstream();
    await using incremental = await startServiceBefore(upstream, RESPONSES_OVER_WEBSOCKET.provider);
    await using full = await startServiceBefore(upstream, RESPONSES_OVER_SSE.provider);
    await using load = new LoadGenerator();
    const run = (service: Server) => () => runRound(service, load, sizes.agents);
    const figures = await compare({ service: run(incremental), floor: run(full) }, sizes);
    const goals = [{ figure: LAST_BYTES, of: 'ratio', atMost: 0.1 }] as const;
    return [{ name: 'upstream-loop, incremental over WebSocket ÷ full over HTTP', figures, goals }];
  },
};

async function runRound(service: Server, load: LoadGenerator, agents: number): Promise<Sample> {
  const cpuBefore = await service.cpuMicroseconds();
  const { origin } = service;
  const outcome = await load.run({ type: 'agent', origin, transport: 'socket', agents, turns: AGENT_TURNS });
  const cpu = (await service.cpuMicroseconds()) - cpuBefore;
  const { turns, lastItems, lastArguments } = outcome;
  if (lastItems !== LAST_AGENT_ITEMS)
    throw new Error(`the upstream saw ${lastItems} items in the last turn, not ${LAST_AGENT_ITEMS}`);
  const { received_bytes: received } = JSON.parse(lastArguments) as { readonly received_bytes: number };
  return { [LAST_BYTES]: received, 'server CPU per turn, µs': cpu / turns };
}
