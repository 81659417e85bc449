import type { Case, Load } from '../harness/case.ts';
import { toBody, toChatBody, toMessagesBody, toModel } from '../traffic.ts';
import { atMost, CPU_PER_TURN, service } from './programs.ts';

/** Writes an answer of usual length, as a model streams it. */
const MODEL = toModel({ deltas: 50, burst: 8 });

/** The paths of doors, and the bodies with which they ask for the same turn. */
const DOOR_REQUESTS: readonly (readonly [name: string, path: string, body: (stream: boolean) => string])[] = [
  ['messages', '/v1/messages', (stream) => toMessagesBody(MODEL, stream)],
  // The padding of streams would have a random length.
  ['chat', '/v1/chat/completions', (stream) => toChatBody(MODEL, stream, { include_obfuscation: false })],
];

/** Requests, 32 at once, or concurrent streams. */
function turns(path: string, body: string, isStreamed: boolean): Load {
  return async (server, bench) => {
    const { jsonRequests, streams, turnsPerStream } = bench.sizes;
    const job = { url: server.origin + path, body };
    const { turns: made, cpu } = await (isStreamed
      ? bench.measure(server, 'sse', { ...job, concurrency: streams, turns: streams * turnsPerStream * bench.times(4) })
      : bench.measure(server, 'json', { ...job, concurrency: 32, turns: jsonRequests }));
    return { [CPU_PER_TURN]: cpu / made };
  };
}

/** What the translation of another API costs: the same turn as a request of the Responses API is the floor. */
export const DOORS: readonly Case[] = [
  {
    name: 'doors',
    table: 'doors',
    sides: { service: service(), floor: service() },
    rows: () =>
      DOOR_REQUESTS.flatMap(([door, path, body]) =>
        [false, true].map((stream) => ({
          name: `doors, ${door}, ${stream ? 'sse' : 'json'}`,
          load: {
            service: turns(path, body(stream), stream),
            floor: turns('/v1/responses', toBody(MODEL, null, { store: false, ...(stream && { stream }) }), stream),
          },
          goals: [atMost(CPU_PER_TURN, 'ratio', 1.15)],
        })),
      ),
  },
];
