import { requireRule } from './rule.js';
import type { Service } from './service.js';
import { SocketClient } from './socket-client.js';
import { type HttpAnswer, openStream, postJson } from './sse.js';

/** How a turn was refused before it began, the same for every transport. */
export interface RefusedTurn {
  readonly status: number;
  /** What the client is told to wait, seconds. */
  readonly retryAfter: string | null;
  readonly error: Readonly<Record<string, unknown>>;
}

/** Runs a turn that has to be refused. */
export type Refuse = (service: Service, body: object) => Promise<RefusedTurn>;

/** Every transport that a turn can be refused on. */
export const REFUSED_TURNS: readonly (readonly [transport: 'json' | 'sse' | 'ws', refuse: Refuse])[] = [
  ['json', async ({ baseURL }, body) => fromHttp(await postJson(`${baseURL}/responses`, body))],
  [
    'sse',
    async ({ baseURL }, body) => {
      const answer = await openStream(`${baseURL}/responses`, body);
      requireRule(!answer.streams, 'the turn must be refused, not begin');
      return fromHttp(answer);
    },
  ],
  [
    'ws',
    async (service, body) => {
      await using client = await SocketClient.open(service);
      const frame = await client.refusal(body as { readonly stream_id?: string });
      const { headers = {}, ...error } = frame['error'] as Readonly<Record<string, unknown>>;
      requireRule(JSON.stringify(frame['headers']) === JSON.stringify(headers), 'headers must stand in both places');
      const retryAfter = (headers as Readonly<Record<string, string>>)['retry-after'] ?? null;
      return { status: frame['status'] as number, retryAfter, error };
    },
  ],
];

function fromHttp({ status, headers, body }: HttpAnswer): RefusedTurn {
  const { error } = body as { readonly error: Readonly<Record<string, unknown>> };
  return { status, retryAfter: headers.get('retry-after'), error };
}
