import type { Traffic } from '../traffic.ts';
import type { Comparison, Sizes } from './benchmark-case.ts';
import { compareStreams, CPU_PER_EVENT, type StreamSides } from './compare-streams.ts';

/** A shape of traffic, and the goals for the cost of an event. */
export interface Shape {
  readonly name: string;
  /** Deltas per turn of the event loop. */
  readonly burst: number;
  /** Deltas per answer, if the shape sets them. Rounds of short answers have more turns, to be long enough to measure. */
  readonly deltas?: number;
  readonly floor: number;
  readonly honest: number;
}

/** Factor on the turns of a round for short answers. */
const MORE_TURNS = 4;

/** Compares streams in each shape of traffic, with a model without cost. */
export async function compareShapes(
  sides: StreamSides,
  shapes: readonly Shape[],
  sizes: Sizes,
): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const { name, burst, deltas, floor, honest } of shapes) {
    const traffic: Traffic = { deltas: deltas ?? sizes.deltas, burst };
    const turnsPerStream = sizes.turnsPerStream * (deltas === undefined ? 1 : MORE_TURNS);
    const figures = await compareStreams({ ...sides, model: 'bench', traffic }, { ...sizes, turnsPerStream });
    const goals = [
      { figure: CPU_PER_EVENT, of: 'ratio', atMost: floor },
      { figure: CPU_PER_EVENT, of: 'honest ratio', atMost: honest },
    ] as const;
    comparisons.push({ name: `${sides.transport}, ${name}`, figures, goals });
  }
  return comparisons;
}
