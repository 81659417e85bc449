import { get } from 'node:http';
import { json } from 'node:stream/consumers';

import { compare, type Sample } from '../measure.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { startBareService, startEmptyApp } from './programs.ts';

const TIME = 'start to first answer, ms';
const MEMORY = 'memory after it, MB';

const GOALS: readonly Goal[] = [
  { figure: TIME, of: 'ratio', atMost: 2 },
  { figure: MEMORY, of: 'difference', atMost: 70 },
];

/** Time from starting `node dist/main.js` to the first answer. The floor is an empty Nest application. */
export const coldStartCase: BenchmarkCase = {
  name: 'cold-start',
  async run({ starts, warmUps }: Sizes): Promise<readonly Comparison[]> {
    const contest = { service: () => runRound(startBareService), floor: () => runRound(startEmptyApp) };
    // The first start may read files from disk.
    const figures = await compare(contest, { rounds: starts, warmUps: Math.min(warmUps, 1) });
    return [{ name: 'cold-start ÷ empty Nest', figures, goals: GOALS }];
  },
};

async function runRound(start: () => Promise<Server>): Promise<Sample> {
  const begin = performance.now();
  await using server = await start();
  await ask(`${server.origin}/v1/models`);
  const milliseconds = performance.now() - begin;
  return { [TIME]: milliseconds, [MEMORY]: (await server.residentBytes()) / 1e6 };
}

function ask(url: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    get(url, (answer) => {
      if (answer.statusCode === 200) resolve(json(answer));
      else reject(new Error(`status ${answer.statusCode ?? 0} of ${url}`));
    }).once('error', reject);
  });
}
