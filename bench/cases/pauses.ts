import { once } from 'node:events';
import { Agent } from 'node:http';

import type { Case, Load } from '../harness/case.ts';
import type { Server } from '../harness/processes.ts';
import { send } from '../load/http.ts';
import { atMost, built, floor } from './programs.ts';

const PAUSE = 'longest wait of a probe, ms';

/**
 * Sends `GET /healthz` again and again until a request is answered, and once after it. Resolves with the longest wait of all of them, ms:
 * how long the event loop of the server stood still.
 */
async function probeDuring({ origin }: Server, path: string, body: string): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const probing = { isOver: false };
  const answering = exchange(origin + path, new Agent(), body).finally(() => (probing.isOver = true));
  let longest = 0;
  for (let isLast = false; !isLast;) {
    isLast = probing.isOver;
    const begin = performance.now();
    await exchange(`${origin}/healthz`, agent);
    longest = Math.max(longest, performance.now() - begin);
  }
  await answering;
  agent.destroy();
  return longest;
}

/** Sends a request and reads its answer, whatever it is; resolves with the status. */
async function exchange(url: string, agent: Agent, body?: string): Promise<number | undefined> {
  const answer = await send(url, body, agent);
  await once(answer.resume(), 'end');
  return answer.statusCode;
}

const TOKENS = '/v1/responses/input_tokens';
const COUNT_CPU = 'server CPU per count, ms';
const COUNT_TIME = 'time of a count, ms';

const WORDS = 'The early river follows the garden, and nobody asked it why; in spring it carries leaves. ';

/** A context of 1 MB in 1,000 messages. */
const CONTEXT = JSON.stringify({
  model: 'gpt-4.1',
  input: many(1000, (index) => ({ role: 'user', content: `${index}: ${WORDS.repeat(20)}`.slice(0, 1000) })),
});

/** One count alone, for its cost, and one with probes. */
const countTokens: Load = async (server) => {
  const before = await server.report('usage');
  const begin = performance.now();
  const status = await exchange(server.origin + TOKENS, new Agent(), CONTEXT);
  if (status !== 200) throw new Error(`a count was answered with ${status}`);
  const time = performance.now() - begin;
  const cpu = (await server.report('usage')).cpuMicroseconds - before.cpuMicroseconds;
  return { [COUNT_CPU]: cpu / 1000, [COUNT_TIME]: time, [PAUSE]: await probeDuring(server, TOKENS, CONTEXT) };
};

/** Members of requests that hold a server longest, each of at most 16 MiB. Without an input, it is `Hi`. */
const HOSTILE: Readonly<Record<string, () => object>> = {
  '10,000 items': () => ({ input: many(10_000, () => ({ role: 'user', content: 'Hi' })) }),
  '50,000 unknown members': () => named(49_000, () => 1),
  '40,000 properties of a tool': () => {
    const parameters = { type: 'object', properties: named(40_000, () => ({})) };
    return { tools: [{ type: 'function', name: 'f', parameters }] };
  },
  '1,000 hosts beyond ASCII': () => {
    const host = many(4000, (index) => String.fromCharCode(0x4e00 + index)).join('');
    const picture = { type: 'input_image', detail: 'low', image_url: `http://${host}/a` };
    return { input: [{ role: 'user', content: many(1000, () => picture) }] };
  },
  '500 lists of 250 levels': () => {
    const levels = JSON.parse('['.repeat(250) + ']'.repeat(250)) as unknown;
    return { client_metadata: many(500, () => levels) };
  },
};

function many<T>(count: number, make: (index: number) => T): readonly T[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function named<T>(count: number, make: (index: number) => T): Readonly<Record<string, T>> {
  return Object.fromEntries(many(count, (index) => [`m${index}`, make(index)]));
}

/** A round is the same request. */
function hostileRow(name: string, make: () => object) {
  let body: string | undefined;
  const load: Load = async (server) => {
    body ??= JSON.stringify({ model: 'gpt-5', input: 'Hi', ...make() });
    return { [PAUSE]: await probeDuring(server, '/v1/responses', body) };
  };
  return { name: `hostile, ${name}`, load, goals: [atMost(PAUSE, 'service', 100)] };
}

/** How long requests hold the event loop. */
export const PAUSES: readonly Case[] = [
  {
    name: 'token-count',
    table: 'token-count',
    shows: [COUNT_TIME],
    sides: { service: built(), floor: floor('tokens') },
    rows: () => [
      {
        name: 'token-count, 1 MB',
        load: countTokens,
        goals: [atMost(COUNT_CPU, 'ratio', 2), atMost(PAUSE, 'service', 50)],
      },
    ],
  },
  {
    name: 'hostile',
    table: 'hostile',
    sides: { service: built(), floor: floor('parse') },
    rounds: 'few',
    warmUps: 1,
    rows: () => Object.entries(HOSTILE).map(([name, make]) => hostileRow(name, make)),
  },
];
