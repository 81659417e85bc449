import type { AgentTransport } from '../load/agent-job.ts';
import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startService } from './programs.ts';

/** Calls that each agent answers. */
export const AGENT_TURNS = 20;

/** Context items in the last turn: two at the start, and a call with its output for each earlier turn. */
export const LAST_AGENT_ITEMS = 2 + 2 * (AGENT_TURNS - 1);

const CPU_PER_TURN = 'server CPU per turn, µs';
const LAST_BYTES = `bytes sent at turn ${AGENT_TURNS}`;

/** Transports to compare with an agent that sends the full history over HTTP without saving responses. */
const TRANSPORTS: readonly {
  readonly transport: AgentTransport;
  readonly name: string;
  readonly goals: readonly Goal[];
}[] = [
  {
    transport: 'socket',
    name: 'agent-loop, WebSocket ÷ HTTP with full history',
    goals: [
      { figure: CPU_PER_TURN, of: 'ratio', atMost: 0.5 },
      { figure: LAST_BYTES, of: 'ratio', atMost: 0.1 },
    ],
  },
  { transport: 'http', name: 'agent-loop, HTTP with previous_response_id ÷ HTTP with full history', goals: [] },
];

/** The benefit of stored context for an agent: the same turns over different transports. */
export const agentLoopCase: BenchmarkCase = {
  name: 'agent-loop',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService();
    await using load = new LoadGenerator();
    const run = (transport: AgentTransport) => () => runRound(service, load, transport, sizes.agents);
    const comparisons: Comparison[] = [];
    for (const { transport, name, goals } of TRANSPORTS) {
      const figures = await compare({ service: run(transport), floor: run('http with full history') }, sizes);
      comparisons.push({ name, figures, goals });
    }
    return comparisons;
  },
};

async function runRound(
  server: Server,
  load: LoadGenerator,
  transport: AgentTransport,
  agents: number,
): Promise<Sample> {
  const cpuBefore = await server.cpuMicroseconds();
  const { origin } = server;
  const outcome = await load.run({ type: 'agent', origin, transport, agents, turns: AGENT_TURNS });
  const cpu = (await server.cpuMicroseconds()) - cpuBefore;
  const { turns, sentBytes, lastSentBytes, lastItems } = outcome;
  if (lastItems !== LAST_AGENT_ITEMS)
    throw new Error(`the model saw ${lastItems} items in the last turn, not ${LAST_AGENT_ITEMS}`);
  return {
    [CPU_PER_TURN]: cpu / turns,
    [LAST_BYTES]: lastSentBytes,
    [`bytes sent in ${AGENT_TURNS} turns`]: sentBytes,
  };
}
