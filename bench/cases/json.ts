import { compare } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toJsonRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { CPU_PER_REQUEST, runJsonRequests, THROUGHPUT } from './json-requests.ts';
import { type FloorProgram, startFloor, startService } from './programs.ts';

/** A small answer. */
const BODY = toJsonRequestBody('bench', { deltas: 8, burst: 8 });

/** The first floor is also compared with the honest floor. */
const FLOORS: readonly {
  readonly program: FloorProgram;
  readonly honest?: FloorProgram;
  readonly name: string;
  readonly goals: readonly Goal[];
}[] = [
  {
    program: 'json-floor',
    honest: 'honest-http',
    name: 'json ÷ node:http',
    goals: [
      { figure: THROUGHPUT, of: 'ratio', atLeast: 0.4 },
      { figure: CPU_PER_REQUEST, of: 'honest ratio', atMost: 1.8 },
    ],
  },
  {
    program: 'nest-floor',
    name: 'json ÷ Nest with its ValidationPipe',
    goals: [{ figure: THROUGHPUT, of: 'ratio', atLeast: 1 }],
  },
];

/** A turn without streaming, with a model without cost. Responses are saved. */
export const jsonCase: BenchmarkCase = {
  name: 'json',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    await using service = await startService();
    await using load = new LoadGenerator();
    const comparisons: Comparison[] = [];
    const run = (server: Server) => () => runJsonRequests(server, load, BODY, sizes.jsonRequests);
    for (const { program, honest: honestProgram, name, goals } of FLOORS) {
      await using floor = await startFloor(program);
      await using honest = honestProgram === undefined ? undefined : await startFloor(honestProgram);
      const sides = { service: run(service), floor: run(floor), ...(honest && { honest: run(honest) }) };
      comparisons.push({ name, figures: await compare(sides, sizes), goals });
    }
    return comparisons;
  },
};
