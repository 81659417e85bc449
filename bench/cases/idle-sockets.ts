import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startFloor, startService } from './programs.ts';
import { requireOpenFiles } from './require-open-files.ts';

const PER_SOCKET = 'memory per socket, kB';

/** Sockets that come and go before, until everything is loaded and compiled that a socket needs. */
const WARM_UP_SOCKETS = 100;

/** What a client costs that says nothing: the memory of a server with and without many open sockets. */
export const idleSocketsCase: BenchmarkCase = {
  name: 'idle-sockets',
  async run({ idleSockets, starts }: Sizes): Promise<readonly Comparison[]> {
    requireOpenFiles(idleSockets);
    const WS_MAX_CONNECTIONS = String(Math.max(idleSockets, WARM_UP_SOCKETS));
    const contest = {
      service: () => runRound(() => startService({ WS_MAX_CONNECTIONS }), idleSockets),
      floor: () => runRound(() => startFloor('ws-floor'), idleSockets),
    };
    const figures = await compare(contest, { rounds: starts, warmUps: 0 });
    const goals: readonly Goal[] = [{ figure: PER_SOCKET, of: 'ratio', atMost: 1.5 }];
    return [{ name: `idle-sockets, ${idleSockets} open`, figures, goals }];
  },
};

/** Memory that was needed once stays with its process, so every round begins with a new one. */
async function runRound(start: () => Promise<Server>, sockets: number): Promise<Sample> {
  await using server = await start();
  await using load = new LoadGenerator();
  const open = (count: number) =>
    load.run({ type: 'idle', url: `${server.socketOrigin}/v1/responses`, sockets: count });
  await open(WARM_UP_SOCKETS);
  await open(0);
  const before = await server.memory();
  await open(sockets);
  const after = await server.memory();
  return {
    [PER_SOCKET]: (after.rssBytes - before.rssBytes) / sockets / 1000,
    'of it JavaScript’s, kB': (after.heapBytes - before.heapBytes) / sockets / 1000,
  };
}
