import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toJsonRequestBody, toRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { type FloorProgram, startCounted } from './programs.ts';

/** A short answer, so that the turn dominates rather than its text. */
const TRAFFIC = { deltas: 8, burst: 8 };

const PROMISES = 'promises per turn';
const KILOBYTES = 'kB allocated per turn';

/** Warm-up turns, as a multiple of the counted ones. */
const WARM_UP = 3;

type Transport = 'json' | 'sse' | 'ws';

/** Each transport with its floors and goals. */
const TRANSPORTS: readonly {
  readonly transport: Transport;
  readonly floor: FloorProgram;
  readonly honest: FloorProgram;
  readonly promises: number;
  readonly kilobytes: number;
}[] = [
  { transport: 'json', floor: 'json-floor', honest: 'honest-http', promises: 32, kilobytes: 52 },
  { transport: 'sse', floor: 'sse-floor', honest: 'honest-http', promises: 34, kilobytes: 62 },
  { transport: 'ws', floor: 'ws-floor', honest: 'honest-ws', promises: 44, kilobytes: 62 },
];

/** Promises and heap bytes per turn: counts, which do not depend on the machine. Responses are saved. */
export const turnCostCase: BenchmarkCase = {
  name: 'turn-cost',
  async run({ countedTurns: turns, longRounds: rounds }: Sizes): Promise<readonly Comparison[]> {
    await using service = await startCounted('service');
    await using load = new LoadGenerator();
    const comparisons: Comparison[] = [];
    for (const { transport, floor, honest, promises, kilobytes } of TRANSPORTS) {
      await using bare = await startCounted(floor);
      await using whole = await startCounted(honest);
      const goals: readonly Goal[] = [
        { figure: PROMISES, of: 'service', atMost: promises },
        { figure: KILOBYTES, of: 'service', atMost: kilobytes },
      ];
      for (const server of [service, bare, whole]) await makeTurns(server, load, transport, WARM_UP * turns);
      const run = (server: Server) => () => runRound(server, load, transport, turns);
      const sides = { service: run(service), floor: run(bare), honest: run(whole) };
      const figures = await compare(sides, { rounds, warmUps: 0 });
      comparisons.push({ name: `turn-cost, ${transport}`, figures, goals });
    }
    return comparisons;
  },
};

async function runRound(server: Server, load: LoadGenerator, transport: Transport, turns: number): Promise<Sample> {
  const run = () => makeTurns(server, load, transport, turns);
  const promises = await server.count('promises', run);
  const bytes = await server.count('bytes', run);
  return { [PROMISES]: promises / turns, [KILOBYTES]: bytes / 1000 / turns };
}

/** Makes turns in sequence, on one connection. */
async function makeTurns(server: Server, load: LoadGenerator, transport: Transport, turns: number): Promise<unknown> {
  const url = `${transport === 'ws' ? server.socketOrigin : server.origin}/v1/responses`;
  const body = toRequestBody('bench', TRAFFIC);
  switch (transport) {
    case 'json': {
      const request = { url, body: toJsonRequestBody('bench', TRAFFIC), concurrency: 1 };
      return await load.run({ type: 'json', ...request, requests: turns });
    }
    case 'sse':
      return await load.run({ type: 'sse', url, body, streams: 1, turnsPerStream: turns });
    case 'ws':
      return await load.run({ type: 'socket', url, body, predecessor: 'none', sockets: 1, turnsPerSocket: turns });
  }
}
