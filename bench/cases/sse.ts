import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareStreams } from './compare-streams.ts';
import { startFloor, startService } from './programs.ts';

/** How deltas come, by the number of them in one turn of the event loop. */
const SHAPES = { single: 1, burst: 8 };

/** The road of a streamed turn, from request to last event, with a model that costs nothing. Responses are stored. */
export const sseCase: BenchmarkCase = {
  name: 'sse',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService();
    await using floor = await startFloor();
    await using load = new LoadGenerator();
    const comparisons: Comparison[] = [];
    for (const [shape, burst] of Object.entries(SHAPES)) {
      const contest = { service, floor, load, model: 'bench', traffic: { deltas: sizes.deltas, burst } };
      comparisons.push({ name: `sse, ${shape}`, figures: await compareStreams(contest, sizes) });
    }
    return comparisons;
  },
};
