import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { MemoryAnswer } from '../processes/messages.ts';
import type { Server } from '../processes/server.ts';
import { toRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startFloor, startBuiltService } from './programs.ts';
import { requireOpenFiles } from './require-open-files.ts';

const PER_SOCKET = 'memory per socket, kB';

const PER_THOUSAND = 'memory per 1,000 sockets, MB';

/** The turn of each socket. */
const TURN = toRequestBody('gpt-4.1', { deltas: 8, burst: 8 });

/** Turns of each warm-up socket. */
const FIRST_TURNS = 20;

/** Warm-up sockets, until the server has loaded and compiled shared code. */
const FIRST = 50;

/** Memory of idle clients: a server with and without many open sockets. */
export const idleSocketsCase: BenchmarkCase = {
  name: 'idle-sockets',
  requireMachine({ idleSockets }: Sizes): void {
    requireOpenFiles(FIRST + idleSockets);
  },
  async run({ idleSockets, starts }: Sizes): Promise<readonly Comparison[]> {
    const WS_MAX_CONNECTIONS = String(FIRST + idleSockets);
    const contest = {
      service: () => runRound(() => startBuiltService({ WS_MAX_CONNECTIONS }), idleSockets),
      floor: () => runRound(() => startFloor('ws-floor'), idleSockets),
    };
    const figures = await compare(contest, { rounds: starts, warmUps: 0 });
    const goals: readonly Goal[] = [{ figure: PER_SOCKET, of: 'ratio', atMost: 1.5 }];
    const turns = {
      service: () => runTurns(() => startBuiltService({ WS_MAX_CONNECTIONS }), idleSockets),
      floor: () => runTurns(() => startFloor('ws-floor'), idleSockets),
    };
    const used = await compare(turns, { rounds: starts, warmUps: 0 });
    const usedGoals: readonly Goal[] = [{ figure: PER_THOUSAND, of: 'service', atMost: 30 }];
    return [
      { name: `idle-sockets, ${idleSockets} open`, figures, goals },
      { name: `idle-sockets, ${idleSockets} after a turn each`, figures: used, goals: usedGoals },
    ];
  },
};

/** Processes do not return memory, so every round starts a new one. */
async function runRound(start: () => Promise<Server>, sockets: number): Promise<Sample> {
  await using server = await start();
  await using load = new LoadGenerator();
  const url = `${server.socketOrigin}/v1/responses`;
  const measure = async (count: number): Promise<MemoryAnswer> => {
    await load.run({ type: 'idle', url, sockets: count });
    return await server.memory();
  };
  const [before, after] = [await measure(FIRST), await measure(FIRST + sockets)];
  const toKilobytes = (bytes: number): number => bytes / sockets / 1000;
  return {
    [PER_SOCKET]: toKilobytes(after.rssBytes - before.rssBytes),
    'of it JavaScript’s, kB': toKilobytes(after.heapBytes - before.heapBytes),
  };
}

/** Memory of sockets that have each had one turn, with the responses that the service keeps. */
async function runTurns(start: () => Promise<Server>, count: number): Promise<Sample> {
  await using server = await start();
  await using load = new LoadGenerator();
  const url = `${server.socketOrigin}/v1/responses`;
  const measure = async (sockets: number, turnsPerSocket: number): Promise<number> => {
    await load.run({ type: 'socket', url, body: TURN, predecessor: 'none', sockets, turnsPerSocket });
    // Collects garbage, so that what is left belongs to sockets.
    await server.memory();
    return await server.residentBytes();
  };
  const [before, after] = [await measure(FIRST, FIRST_TURNS), await measure(FIRST + count, 1)];
  return { [PER_THOUSAND]: (after - before) / count / 1000 };
}
