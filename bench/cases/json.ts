import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toJsonRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startFloor, startService } from './programs.ts';

/** Requests that are on their way at the same time. */
const CONCURRENCY = 32;

/** A small answer. */
const TRAFFIC = { deltas: 8, burst: 8 };

const THROUGHPUT = 'requests per second';

const FLOORS = [
  { program: 'json-floor', name: 'json ÷ node:http', atLeast: 0.35 },
  { program: 'nest-floor', name: 'json ÷ Nest with its ValidationPipe', atLeast: 1 },
] as const;

/** The road of a turn that is answered in one piece, with a model that costs nothing. Responses are stored. */
export const jsonCase: BenchmarkCase = {
  name: 'json',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService();
    await using load = new LoadGenerator();
    const comparisons: Comparison[] = [];
    for (const { program, name, atLeast } of FLOORS) {
      await using floor = await startFloor(program);
      const run = (server: Server) => () => runRound(server, load, sizes.jsonRequests);
      const figures = await compare({ service: run(service), floor: run(floor) }, sizes);
      const goals: readonly Goal[] = [{ figure: THROUGHPUT, of: 'ratio', atLeast }];
      comparisons.push({ name, figures, goals });
    }
    return comparisons;
  },
};

async function runRound(server: Server, load: LoadGenerator, requests: number): Promise<Sample> {
  const url = `${server.origin}/v1/responses`;
  const body = toJsonRequestBody('bench', TRAFFIC);
  const cpuBefore = await server.cpuMicroseconds();
  const { bytes, seconds } = await load.run({ type: 'json', url, body, concurrency: CONCURRENCY, requests });
  const cpu = (await server.cpuMicroseconds()) - cpuBefore;
  return {
    [THROUGHPUT]: requests / seconds,
    'server CPU per request, µs': cpu / requests,
    // Below one, something else than the server bounds the throughput: the load generator, or the machine.
    'server cores in use': cpu / 1e6 / seconds,
    'bytes per answer': bytes / requests,
  };
}
