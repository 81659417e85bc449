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

/** Goals for the first turn, which loads and compiles more than a list does. */
const TURN_GOALS: readonly Goal[] = [
  { figure: TIME, of: 'service', atMost: 700 },
  { figure: MEMORY, of: 'service', atMost: 140 },
];

/** A list of models: the empty application has one, too. */
const LIST = { path: '/v1/models' };

/** A turn, answered by the default simulator. */
const TURN = { path: '/v1/responses', body: JSON.stringify({ model: 'gpt-4.1', input: 'Tell me about the harbor.' }) };

/**
 * Time from starting `node dist/main.js` to the first answer, and to the first answered turn. The floor is an empty Nest
 * application, which answers a list in both.
 */
export const coldStartCase: BenchmarkCase = {
  name: 'cold-start',
  async run({ starts, warmUps }: Sizes): Promise<readonly Comparison[]> {
    // The first start may read files from disk.
    const rounds = { rounds: starts, warmUps: Math.min(warmUps, 1) };
    const floor = () => runRound(startEmptyApp, LIST);
    const list = await compare({ service: () => runRound(startBareService, LIST), floor }, rounds);
    const turn = await compare({ service: () => runRound(startBareService, TURN), floor }, rounds);
    return [
      { name: 'cold-start ÷ empty Nest', figures: list, goals: GOALS },
      { name: 'cold-start, first turn', figures: turn, goals: TURN_GOALS },
    ];
  },
};

/** The first request to a server: GET if it has no body. */
interface FirstRequest {
  readonly path: string;
  readonly body?: string;
}

async function runRound(start: () => Promise<Server>, request: FirstRequest): Promise<Sample> {
  const begin = performance.now();
  await using server = await start();
  await ask(server.origin, request);
  const milliseconds = performance.now() - begin;
  return { [TIME]: milliseconds, [MEMORY]: (await server.residentBytes()) / 1e6 };
}

async function ask(origin: string, { path, body }: FirstRequest): Promise<void> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
  const answer = await fetch(origin + path, body === undefined ? {} : post);
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`${path} was answered with ${answer.status}: ${text}`);
}
