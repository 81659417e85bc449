import { compare } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import { DELTA, toJsonRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { CPU_PER_REQUEST, runJsonRequests } from './json-requests.ts';
import { startBuiltService, startService } from './programs.ts';

const WORDS = 50;

/** All words at once, as the instant simulator writes them. */
const TRAFFIC = { deltas: WORDS, burst: WORDS };

/** Both sides answer with the same text, as far as its length goes. */
const SIMULATOR = { SIMULATOR_GENERATOR: 'fixed', SIMULATOR_TEXT: DELTA.repeat(WORDS).trim() };

const GOALS: readonly Goal[] = [{ figure: CPU_PER_REQUEST, of: 'difference', atMost: 120 }];

/** What the instant simulator adds to a turn without streaming. The floor is the same service with a model without cost. */
export const simulatorJsonCase: BenchmarkCase = {
  name: 'simulator-json',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startBuiltService(SIMULATOR);
    await using floor = await startService();
    await using load = new LoadGenerator();
    const comparisons: Comparison[] = [];
    for (const store of [true, false]) {
      const toBody = (model: string): string => toJsonRequestBody(model, TRAFFIC, store);
      const contest = {
        service: () => runJsonRequests(service, load, toBody('gpt-4.1'), sizes.jsonRequests),
        floor: () => runJsonRequests(floor, load, toBody('bench'), sizes.jsonRequests),
      };
      const name = `simulator-json, ${store ? 'stored' : 'store: false'}`;
      comparisons.push({ name, figures: await compare(contest, sizes), goals: GOALS });
    }
    return comparisons;
  },
};
