import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { FRAMING_EVENTS, toRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareStreams } from './compare-streams.ts';
import { startBuiltService, startFloor } from './programs.ts';

/** Answers in text alone. */
const MODEL = 'gpt-4.1';

/** How many deltas the simulator sends in one turn of the event loop. */
const BURST = 8;

/** Its answers are short: a round needs more of them to be long enough to measure. */
const MORE_TURNS = 4;

/** The service as it is built, with its instant simulator: what a user of the simulator gets. */
export const simulatorCase: BenchmarkCase = {
  name: 'simulator',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startBuiltService();
    await using floor = await startFloor('sse-floor');
    await using load = new LoadGenerator();
    // The simulator chooses the length of its answer; the floor's is as long.
    const traffic = { deltas: await countDeltas(load, service), burst: BURST };
    const figures = await compareStreams(
      { transport: 'sse', service, floor, load, model: MODEL, traffic },
      { ...sizes, turnsPerStream: sizes.turnsPerStream * MORE_TURNS },
    );
    return [{ name: 'simulator', figures }];
  },
};

async function countDeltas(load: LoadGenerator, { origin }: Server): Promise<number> {
  const body = toRequestBody(MODEL, { deltas: 0, burst: BURST });
  const { events } = await load.run({
    type: 'sse',
    url: `${origin}/v1/responses`,
    body,
    streams: 1,
    turnsPerStream: 1,
  });
  return events - FRAMING_EVENTS;
}
