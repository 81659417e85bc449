import { type Bench, STATES } from '../harness/bench.ts';
import type { Case, Load } from '../harness/case.ts';
import type { Server } from '../harness/processes.ts';
import { toBody } from '../traffic.ts';
import { atMost, CPU_PER_TURN, ON, ROUND_TRIPS, service, SHORT, toTurnSample } from './programs.ts';

const AGENTS_SERVICE = service();

const STREAMED = toBody('bench', SHORT, { stream: true });

/** Turns of an agent, and the context items of the last one: two at the start, and a call with its output for each earlier turn. */
const AGENT_TURNS = 20;
const LAST_ITEMS = 2 + 2 * (AGENT_TURNS - 1);

const LAST_BYTES = `bytes sent at turn ${AGENT_TURNS}`;

function agents(transport: 'socket' | 'http'): Load {
  return async (server, bench) => {
    const job = { url: server.url, transport, agents: bench.sizes.agents, turns: AGENT_TURNS };
    const { turns, sentBytes, lastSentBytes, lastItems, cpu } = await bench.measure(server, 'agents', job);
    if (lastItems !== LAST_ITEMS) throw new Error(`the model saw ${lastItems} items at last, not ${LAST_ITEMS}`);
    const sent = { [LAST_BYTES]: lastSentBytes, [`bytes sent in ${AGENT_TURNS} turns`]: sentBytes };
    return { [CPU_PER_TURN]: cpu / turns, ...sent };
  };
}

/** The turn that others of the same chain are compared with. */
const REFERENCE = 5;

/** Sockets that continue a chain. */
const SOCKETS = 16;

/** The responses of the chain on each service, oldest first. */
const chains = new WeakMap<Server, readonly string[]>();

async function makeChain(server: Server, bench: Bench): Promise<void> {
  const job = { url: server.socketUrl, body: STREAMED, sockets: 1 };
  const turnsPerSocket = Math.max(bench.sizes.chain, REFERENCE) - 1;
  const root = await bench.load.run('socket', { ...job, turnsPerSocket: 1 });
  const others = await bench.load.run('socket', { ...job, predecessor: 'the one before', turnsPerSocket });
  chains.set(server, [...root.responseIds, ...others.responseIds]);
  await bench.analyze();
}

/** Repeats one turn of the chain over HTTP. They are slower, so fewer are enough to measure. */
function httpTurn(turn: number): Load {
  return async (server, bench) => {
    const body = toBody('bench', SHORT, { stream: true, previous_response_id: chains.get(server)?.[turn - 2] });
    const job = { url: server.url, body, concurrency: 1, turns: 16 * bench.sizes.turnsPerStream };
    return toTurnSample([await bench.measure(server, 'sse', job)]);
  };
}

/** Makes one turn of the chain and a few after it, on sockets that have just made the one before. Begins several times, to stay near it. */
function socketTurn(turn: number): Load {
  return async (server, bench) => {
    const job = { url: server.socketUrl, body: STREAMED, sockets: SOCKETS };
    const responseId = chains.get(server)?.[turn - 3] ?? '';
    const { turnsPerStream: turnsPerSocket } = bench.sizes;
    const costs = [];
    for (let beginning = 0; beginning < bench.times(4); beginning++) {
      await bench.load.run('socket', { ...job, predecessor: { responseId }, turnsPerSocket: 1 });
      const turns = { ...job, predecessor: 'the one before', turnsPerSocket } as const;
      costs.push(await bench.measure(server, 'socket', turns));
    }
    return toTurnSample(costs);
  };
}

/** On a warm socket the transcript is not read again, so its length should not matter. */
const CHAINED = [
  { transport: 'http', turn: httpTurn, goals: [atMost(CPU_PER_TURN, 'ratio', 1.3)] },
  { transport: 'socket', turn: socketTurn, goals: [atMost(CPU_PER_TURN, 'ratio', 1.1)] },
];

/** Turns that have a history. */
export const HISTORIED: readonly Case[] = [
  {
    name: 'agent-loop',
    table: 'conversations',
    sides: { service: AGENTS_SERVICE, floor: AGENTS_SERVICE },
    rows: () => [
      {
        name: 'agent-loop, WebSocket ÷ HTTP with full history',
        load: { service: agents('socket'), floor: agents('http') },
        goals: [atMost(CPU_PER_TURN, 'ratio', 0.5), atMost(LAST_BYTES, 'ratio', 0.1)],
      },
    ],
  },
  {
    name: 'chains',
    table: 'conversations',
    shows: [CPU_PER_TURN, ROUND_TRIPS],
    prepare: makeChain,
    rows: ({ chain }) =>
      STATES.flatMap((state) =>
        CHAINED.map(({ transport, turn, goals }) => ({
          name: `chains, ${state}, ${transport}, turn ${chain} ÷ turn ${REFERENCE}`,
          sides: { service: ON[state], floor: ON[state] },
          load: { service: turn(chain), floor: turn(REFERENCE) },
          goals,
        })),
      ),
  },
];
