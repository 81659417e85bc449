import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { FRAMING_EVENTS, toRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Sizes } from './benchmark-case.ts';
import { compareStreams } from './compare-streams.ts';
import { startBuiltService, startFloor } from './programs.ts';

/** Answers with text only. */
const MODEL = 'gpt-4.1';

/** Deltas that the simulator sends per turn of the event loop. */
const BURST = 64;

/** Factor on turns per round, because the answers are short. */
const MORE_TURNS = 4;

/** The built service with its instant simulator. */
export const simulatorCase: BenchmarkCase = {
  name: 'simulator',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startBuiltService();
    await using floor = await startFloor('sse-floor');
    await using load = new LoadGenerator();
    // The floor's answer has the length that the simulator chose.
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
