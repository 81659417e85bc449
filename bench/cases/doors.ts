import type { Case, Load, Row } from '../harness/case.ts';
import { toBody, toChatBody } from '../traffic.ts';
import { atMost, CPU_PER_TURN, service } from './programs.ts';

/** An answer of usual length, as a model streams it. */
const ANSWER = { deltas: 50, burst: 8 };

/** What both sides are asked beside their messages; the padding of streams would have a random length. */
const MEMBERS = {
  store: false,
  metadata: Object.fromEntries(Object.entries(ANSWER).map(([name, value]) => [name, String(value)])),
};

/** Requests that are not streamed, 32 at once. */
function whole(path: string, body: string): Load {
  return async (server, bench) => {
    const { jsonRequests: requests } = bench.sizes;
    const job = { url: server.origin + path, body, concurrency: 32, requests };
    const { cpu } = await bench.measure(server, 'json', job);
    return { [CPU_PER_TURN]: cpu / requests };
  };
}

/** Concurrent streams. */
function streamed(path: string, body: string): Load {
  return async (server, bench) => {
    const { streams, turnsPerStream } = bench.sizes;
    const job = { url: server.origin + path, body, streams, turnsPerStream: turnsPerStream * 4 };
    const { turns, cpu } = await bench.measure(server, 'sse', job);
    return { [CPU_PER_TURN]: cpu / turns };
  };
}

const chat = (members: object): string =>
  JSON.stringify({ ...(JSON.parse(toChatBody('bench', false)) as object), ...MEMBERS, ...members });

/** The same turn through a door and as a request of the Responses API, which is the floor. */
function rowsOf(door: string, path: string, body: (members: object) => string): readonly Row[] {
  const goals = [atMost(CPU_PER_TURN, 'ratio', 1.15)];
  const stream = { stream: true, stream_options: { include_obfuscation: false } };
  return [
    {
      name: `doors, ${door}, json`,
      load: { service: whole(path, body({})), floor: whole('/v1/responses', toBody('bench', null, MEMBERS)) },
      goals,
    },
    {
      name: `doors, ${door}, sse`,
      load: {
        service: streamed(path, body(stream)),
        floor: streamed('/v1/responses', toBody('bench', null, { ...MEMBERS, stream: true })),
      },
      goals,
    },
  ];
}

/** What the translation of another API costs. */
export const DOORS: readonly Case[] = [
  {
    name: 'doors',
    table: 'doors',
    sides: { service: service(), floor: service() },
    rows: () => rowsOf('chat', '/v1/chat/completions', chat),
  },
];
