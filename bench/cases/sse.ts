import { LoadGenerator } from '../processes/load-generator.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareStreams, CPU_PER_EVENT } from './compare-streams.ts';
import { startFloor, startService } from './programs.ts';

/** How deltas come: how many in one turn of the event loop, and what an event may cost then beside the floor's. */
const SHAPES = [
  { shape: 'single', burst: 1, atMost: 1.3 },
  { shape: 'burst', burst: 8, atMost: 1.6 },
];

/** The road of a streamed turn, from request to last event, with a model that costs nothing. Responses are stored. */
export const sseCase: BenchmarkCase = {
  name: 'sse',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService();
    await using floor = await startFloor();
    await using load = new LoadGenerator();
    const comparisons: Comparison[] = [];
    for (const { shape, burst, atMost } of SHAPES) {
      const contest = { service, floor, load, model: 'bench', traffic: { deltas: sizes.deltas, burst } };
      const goals = [{ figure: CPU_PER_EVENT, of: 'ratio', atMost }] as const;
      comparisons.push({ name: `sse, ${shape}`, figures: await compareStreams(contest, sizes), goals });
    }
    return comparisons;
  },
};
