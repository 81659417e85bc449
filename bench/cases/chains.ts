import { compare } from '../measure.ts';
import { type Backend, Backends } from '../processes/backends.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { ChainedTurns, CPU_PER_TURN } from './chained-turns.ts';
import { startService } from './programs.ts';

/** The turn that serves as the floor. */
const REFERENCE = 5;

/** The measured turns of a chain, up to its length. */
const TURNS = [50, 500];

/** On a warm socket the transcript is not read again, so its length should not matter. */
const GOALS: Readonly<Record<'http' | 'socket', readonly Goal[]>> = {
  http: [],
  socket: [{ figure: CPU_PER_TURN, of: 'ratio', atMost: 1.1 }],
};

/**
 * The cost of a chain's length: one turn, from loading its context to saving its response, with a model that ignores the
 * context. The floor is the fifth turn of the same chain over the same transport.
 */
export const chainsCase: BenchmarkCase = {
  name: 'chains',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using backends = await Backends.start();
    const comparisons: Comparison[] = [];
    for (const backend of backends.all) comparisons.push(...(await compareTurns(backend, sizes, backends)));
    return comparisons;
  },
};

async function compareTurns(
  { state, environment }: Backend,
  sizes: Sizes,
  backends: Backends,
): Promise<readonly Comparison[]> {
  await using service = await startService(environment);
  await using load = new LoadGenerator();
  const setting = { service, load, countsRoundTrips: state === 'postgres', sizes };
  const turns = await ChainedTurns.prepare(setting, Math.max(sizes.chain, REFERENCE));
  await backends.analyze();
  const comparisons: Comparison[] = [];
  for (const transport of ['http', 'socket'] as const) {
    for (const turn of TURNS.filter((one) => one <= sizes.chain)) {
      const contest = { service: () => turns[transport](turn), floor: () => turns[transport](REFERENCE) };
      const figures = await compare(contest, sizes);
      comparisons.push({
        name: `chains, ${state}, ${transport}, turn ${turn} ÷ turn ${REFERENCE}`,
        figures,
        goals: GOALS[transport],
      });
    }
  }
  return comparisons;
}
