import { type HostileBody, hostileBodies } from '../hostile-bodies.ts';
import { compare, type Sample } from '../measure.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { probeDuring } from './probe.ts';
import { startBuiltService, startFloor } from './programs.ts';

const PAUSE = 'longest wait of a probe, ms';
const GOALS: readonly Goal[] = [{ figure: PAUSE, of: 'service', atMost: 100 }];

/** The longest pause that one request can cause. The floor parses the same body. */
export const hostileCase: BenchmarkCase = {
  name: 'hostile',
  async run({ longRounds, warmUps }: Sizes): Promise<readonly Comparison[]> {
    await using service = await startBuiltService();
    await using floor = await startFloor('parse-floor');
    const comparisons: Comparison[] = [];
    for (const body of hostileBodies()) {
      const contest = { service: () => runRound(service, body), floor: () => runRound(floor, body) };
      const figures = await compare(contest, { rounds: longRounds, warmUps: Math.min(warmUps, 1) });
      comparisons.push({ name: `hostile, ${body.name}`, figures, goals: GOALS });
    }
    return comparisons;
  },
};

async function runRound({ origin }: Server, body: HostileBody): Promise<Sample> {
  return { [PAUSE]: await probeDuring(origin, { path: '/v1/responses', ...body }) };
}
