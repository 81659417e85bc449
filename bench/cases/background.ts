import { compare, type Sample } from '../measure.ts';
import { type Backend, Backends } from '../processes/backends.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { BackgroundRounds } from './background-rounds.ts';
import { startService } from './programs.ts';

/** Readers of one stream. */
const READERS = 50;

/**
 * Background turns, with a model without cost. The floor is the same turn in the foreground, which has no queue and no
 * log; for the readers of a log, it is the stream while it runs, or one reader.
 */
export const backgroundCase: BenchmarkCase = {
  name: 'background',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using backends = await Backends.start();
    const comparisons: Comparison[] = [];
    for (const backend of backends.all) comparisons.push(...(await compareBackground(backend, sizes, backends)));
    return comparisons;
  },
};

async function compareBackground(
  { state, environment }: Backend,
  sizes: Sizes,
  backends: Backends,
): Promise<readonly Comparison[]> {
  await using service = await startService(environment);
  await using load = new LoadGenerator();
  const rounds = new BackgroundRounds(service, load, sizes);
  // Its rows are what the planner of PostgreSQL learns from.
  await rounds.live();
  await backends.analyze();
  const contests: readonly (readonly [name: string, service: () => Promise<Sample>, floor: () => Promise<Sample>])[] = [
    ['first event', () => rounds.firstEvents(true), () => rounds.firstEvents(false)],
    ['turns', () => rounds.turns(true), () => rounds.turns(false)],
    ['streams, flat out', () => rounds.flatOut(true), () => rounds.flatOut(false)],
    ['streams, paced', () => rounds.paced(true), () => rounds.paced(false)],
    ['replay ÷ live', () => rounds.replay(), () => rounds.live()],
    [`${READERS} readers ÷ 1`, () => rounds.follow(READERS), () => rounds.follow(1)],
  ];
  const comparisons: Comparison[] = [];
  for (const [name, measured, floor] of contests) {
    const figures = await compare({ service: measured, floor }, sizes);
    comparisons.push({ name: `background, ${state}, ${name}`, figures });
  }
  return comparisons;
}
