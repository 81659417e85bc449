import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';

import { compare, type Sample } from '../measure.ts';
import { LoadGenerator } from '../processes/load-generator.ts';
import type { Server } from '../processes/server.ts';
import { toJsonRequestBody } from '../traffic.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startBuiltService, startFloor } from './programs.ts';

/** Concurrent requests. */
const CONCURRENCY = 32;

const AFTER_LOAD = 'memory after the load, MB';
const AFTER_REST = 'memory after a rest, MB';

const GOALS: readonly Goal[] = [
  { figure: AFTER_LOAD, of: 'service', atMost: 250 },
  { figure: AFTER_REST, of: 'service', atMost: 250 },
];

/**
 * Memory of the built service after many turns stored in SQLite, as the system sees it, without a forced garbage collection. The
 * floor is bare `node:http` with a bounded store in memory.
 */
export const memoryCase: BenchmarkCase = {
  name: 'memory',
  async run(sizes: Sizes): Promise<readonly Comparison[]> {
    const folder = await mkdtemp(join(tmpdir(), 'antiphon-bench-'));
    try {
      const environment = { STATE: 'sqlite', STATE_DIR: folder };
      const contest = {
        service: () => runRound(() => startBuiltService(environment), sizes),
        floor: () => runRound(() => startFloor('honest-http'), sizes),
      };
      // Processes do not return all memory, so each is measured once.
      const figures = await compare(contest, { rounds: 1, warmUps: 0 });
      return [{ name: `memory, ${sizes.memoryTurns} turns`, figures, goals: GOALS }];
    } finally {
      await rm(folder, { recursive: true });
    }
  },
};

async function runRound(start: () => Promise<Server>, { memoryTurns: requests, restSeconds }: Sizes): Promise<Sample> {
  await using server = await start();
  await using load = new LoadGenerator();
  const url = `${server.origin}/v1/responses`;
  const body = toJsonRequestBody('gpt-4.1', { deltas: 50, burst: 50 });
  await load.run({ type: 'json', url, body, concurrency: CONCURRENCY, requests });
  const afterLoad = await server.residentBytes();
  await setTimeout(restSeconds * 1000);
  return { [AFTER_LOAD]: afterLoad / 1e6, [AFTER_REST]: (await server.residentBytes()) / 1e6 };
}
