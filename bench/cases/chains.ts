import { compare } from '../measure.ts';
import { Databases } from '../processes/databases.ts';
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
    await using databases = await Databases.start();
    const DATABASE_URL = await databases.create();
    return [
      ...(await compareTurns({ STATE: 'memory' }, sizes, databases)),
      ...(await compareTurns({ STATE: 'postgres', DATABASE_URL }, sizes, databases)),
    ];
  },
};

async function compareTurns(
  environment: { readonly STATE: string; readonly DATABASE_URL?: string },
  sizes: Sizes,
  databases: Databases,
): Promise<readonly Comparison[]> {
  const { STATE } = environment;
  await using service = await startService({ ...environment });
  await using load = new LoadGenerator();
  const setting = { service, load, hasDatabase: STATE === 'postgres', sizes };
  const turns = await ChainedTurns.prepare(setting, Math.max(sizes.chain, REFERENCE));
  await databases.analyze();
  const comparisons: Comparison[] = [];
  for (const transport of ['http', 'socket'] as const) {
    for (const turn of TURNS.filter((one) => one <= sizes.chain)) {
      const contest = { service: () => turns[transport](turn), floor: () => turns[transport](REFERENCE) };
      const figures = await compare(contest, sizes);
      comparisons.push({
        name: `chains, ${STATE}, ${transport}, turn ${turn} ÷ turn ${REFERENCE}`,
        figures,
        goals: GOALS[transport],
      });
    }
  }
  return comparisons;
}
