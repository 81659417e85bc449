import { compare, type Figure } from '../measure.ts';
import { Databases } from '../processes/databases.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Sizes } from './benchmark-case.ts';
import { startServiceBefore, startUpstream } from './programs.ts';
import { compareLatency, compareThroughput, type RelaySetting, toPacedStreams, warmUp } from './relayed-streams.ts';
import { CHAT_COMPLETIONS } from './upstream-kinds.ts';

/** Turns before the first round, for each request of a round: twice what one process needs, because two share them. */
const WARM_UP_TURNS = 200;

/** Concurrent streams with a delta each 10 ms. */
const PACED_STREAMS = 128;

/** Concurrent streams without pauses. */
const FAST_STREAMS = 32;

/**
 * `WORKERS=2`, in place of the service, beside `WORKERS=1`, in place of the floor; both with PostgreSQL. All processes share the
 * cores of the machine, also the upstream, the load generator and the database: on two cores there is little to gain.
 */
export const workersCase: BenchmarkCase = {
  name: 'workers',
  async run(sizes: Sizes) {
    await using databases = await Databases.start();
    await using upstream = await startUpstream();
    const start = async (WORKERS: string): Promise<Server> =>
      await startServiceBefore(upstream, CHAT_COMPLETIONS.provider, {
        STATE: 'postgres',
        DATABASE_URL: await databases.create(),
        WORKERS,
      });
    await using service = await start('2');
    await using floor = await start('1');
    await using load = new LoadGenerator();
    const setting: RelaySetting = { kind: CHAT_COMPLETIONS, upstream, service, floor, load };
    const fast = { traffic: { deltas: sizes.deltas, burst: 1, gapMs: 0 }, streams: FAST_STREAMS, spreadMs: 0 };
    await warmUp(setting, WARM_UP_TURNS * sizes.requests);

    const rounds = { rounds: sizes.longRounds, warmUps: Math.min(1, sizes.warmUps) };
    const flatOut = await compare(compareThroughput(setting, { ...fast, turns: 10 * sizes.requests }), rounds);
    const streams = Math.min(PACED_STREAMS, sizes.pacedStreams);
    const delays = await compare(compareLatency(setting, toPacedStreams(streams, 2 * streams, sizes)), rounds);
    return [
      { name: `workers, 2 ÷ 1, ${FAST_STREAMS} at once`, figures: seenByClients(flatOut), goals: [] },
      { name: `workers, 2 ÷ 1, ${streams} paced`, figures: seenByClients(delays), goals: [] },
    ];
  },
};

/** The CPU is that of the first process only. */
function seenByClients(figures: readonly Figure[]): readonly Figure[] {
  return figures.filter(({ name }) => !name.startsWith('server '));
}
