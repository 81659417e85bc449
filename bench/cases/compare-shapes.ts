import type { Comparison, Sizes } from './benchmark-case.ts';
import { compareStreams, CPU_PER_EVENT, type StreamSides } from './compare-streams.ts';

/** How deltas come: how many in one turn of the event loop, and what an event may cost then beside the floor's. */
const SHAPES = [
  { shape: 'single', burst: 1, atMost: 1.3 },
  { shape: 'burst', burst: 8, atMost: 1.6 },
];

/** Compares streams in each shape of traffic, with a model that costs nothing. */
export async function compareShapes(sides: StreamSides, sizes: Sizes): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const { shape, burst, atMost } of SHAPES) {
    const contest = { ...sides, model: 'bench', traffic: { deltas: sizes.deltas, burst } };
    const goals = [{ figure: CPU_PER_EVENT, of: 'ratio', atMost }] as const;
    comparisons.push({ name: `${sides.transport}, ${shape}`, figures: await compareStreams(contest, sizes), goals });
  }
  return comparisons;
}
