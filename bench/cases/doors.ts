import type { Case, Load, Row } from '../harness/case.ts';
import { toBody, toChatBody, toMessagesBody, toModel } from '../traffic.ts';
import { atMost, CPU_PER_TURN, service } from './programs.ts';

/** Writes an answer of usual length, as a model streams it. */
const MODEL = toModel({ deltas: 50, burst: 8 });

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
    const job = { url: server.origin + path, body, streams, turnsPerStream: turnsPerStream * bench.times(4) };
    const { turns, cpu } = await bench.measure(server, 'sse', job);
    return { [CPU_PER_TURN]: cpu / turns };
  };
}

/** The same turn through a door and as a request of the Responses API, which is the floor. */
function rowsOf(door: string, path: string, body: (stream: boolean) => string): readonly Row[] {
  const goals = [atMost(CPU_PER_TURN, 'ratio', 1.15)];
  const floor = (members: object): string => toBody(MODEL, null, { store: false, ...members });
  return [
    {
      name: `doors, ${door}, json`,
      load: { service: whole(path, body(false)), floor: whole('/v1/responses', floor({})) },
      goals,
    },
    {
      name: `doors, ${door}, sse`,
      load: { service: streamed(path, body(true)), floor: streamed('/v1/responses', floor({ stream: true })) },
      goals,
    },
  ];
}

/** The padding of streams would have a random length. */
function chatBody(stream: boolean): string {
  const body = JSON.parse(toChatBody(MODEL, stream)) as { readonly stream_options?: object };
  const options = { ...body.stream_options, include_obfuscation: false };
  return JSON.stringify({ ...body, ...(stream ? { stream_options: options } : {}) });
}

/** What the translation of another API costs. */
export const DOORS: readonly Case[] = [
  {
    name: 'doors',
    table: 'doors',
    sides: { service: service(), floor: service() },
    rows: () => [
      ...rowsOf('messages', '/v1/messages', (stream) => toMessagesBody(MODEL, stream)),
      ...rowsOf('chat', '/v1/chat/completions', chatBody),
    ],
  },
];
