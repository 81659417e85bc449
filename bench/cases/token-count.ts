import { compare, type Sample } from '../measure.ts';
import type { Server } from '../processes/server.ts';
import type { BenchmarkCase, Comparison, Goal, Sizes } from './benchmark-case.ts';
import { probeDuring } from './probe.ts';
import { startBuiltService, startFloor } from './programs.ts';

const PATH = '/v1/responses/input_tokens';
const MESSAGES = 1000;
const MESSAGE_BYTES = 1000;

const WORDS = 'The early river follows the garden, and nobody asked it why; in spring it carries leaves. ';

const CPU = 'server CPU per count, ms';
const TIME = 'time of a count, ms';
const PAUSE = 'longest wait of a probe, ms';

const GOALS: readonly Goal[] = [
  { figure: CPU, of: 'ratio', atMost: 2 },
  { figure: PAUSE, of: 'service', atMost: 50 },
];

/** A count of a context of 1 MB, which must let other requests in. */
export const tokenCountCase: BenchmarkCase = {
  name: 'token-count',
  async run({ rounds, warmUps }: Sizes): Promise<readonly Comparison[]> {
    await using service = await startBuiltService();
    await using floor = await startFloor('count-floor');
    const bytes = Buffer.from(JSON.stringify({ model: 'gpt-4.1', input: Array.from({ length: MESSAGES }, toMessage) }));
    const contest = { service: () => runRound(service, bytes), floor: () => runRound(floor, bytes) };
    return [{ name: 'token-count, 1 MB', figures: await compare(contest, { rounds, warmUps }), goals: GOALS }];
  },
};

/** A message like the others, but for its number. */
function toMessage(_: unknown, index: number): object {
  return { role: 'user', content: `${index}: ${WORDS.repeat(20)}`.slice(0, MESSAGE_BYTES) };
}

/** One count alone, for its cost, and one with probes. */
async function runRound(server: Server, bytes: Buffer): Promise<Sample> {
  const cpuBefore = await server.cpuMicroseconds();
  const begin = performance.now();
  await count(server, bytes);
  const time = performance.now() - begin;
  const cpu = ((await server.cpuMicroseconds()) - cpuBefore) / 1000;
  return { [CPU]: cpu, [TIME]: time, [PAUSE]: await probeDuring(server.origin, { path: PATH, bytes }) };
}

async function count({ origin }: Server, bytes: Buffer): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${origin}${PATH}`, { method: 'POST', headers, body: Uint8Array.from(bytes) });
  const text = await answer.text();
  if (answer.status !== 200) throw new Error(`the count was answered with ${answer.status}: ${text}`);
}
