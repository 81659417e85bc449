import { checkEventOrder } from '../../src/testing/index.js';
import type { Service } from './service.js';
import { SocketClient } from './socket-client.js';
import { openStream, postJson } from './sse.js';
import { Refusal, type Transport, type WireResponse } from './transport.js';

/** `POST /responses`, answered with one JSON body. */
export const JSON_TRANSPORT: Transport = {
  name: 'json',
  async run({ baseURL }, body, headers = {}) {
    const answer = await postJson(`${baseURL}/responses`, body, { headers });
    if (answer.status !== 200) throw new Refusal(answer.status, answer.body, answer.headers.get('retry-after'));
    return { response: answer.body as WireResponse };
  },
};

/** `POST /responses` with `stream: true`. */
export const SSE_TRANSPORT: Transport = {
  name: 'sse',
  async run({ baseURL }, body, headers = {}) {
    const answer = await openStream(`${baseURL}/responses`, body, { headers });
    if (!answer.streams) throw new Refusal(answer.status, answer.body, answer.headers.get('retry-after'));
    const events = await Array.fromAsync(answer.events);
    const { stream_options: { include_obfuscation: obfuscated = true } = {} } = body as ObfuscatedBody;
    checkEventOrder(events, { transport: 'sse', obfuscated });
    return { events, response: events.at(-1)?.['response'] as WireResponse };
  },
};

interface ObfuscatedBody {
  readonly stream_options?: { readonly include_obfuscation?: boolean };
}

/** `response.create` on a socket of its own. */
export const WS_TRANSPORT: Transport = {
  name: 'ws',
  async run(service, body, headers = {}) {
    await using client = await SocketClient.open(service, { headers });
    return await client.turn(body as { readonly stream_id?: string });
  },
};

/** Every transport a turn can take. What is true of one has to be true of all. */
export const TRANSPORTS: readonly Transport[] = [JSON_TRANSPORT, SSE_TRANSPORT, WS_TRANSPORT];

/** How a turn was refused before it began, the same for every transport. */
export type RefusedTurn = Pick<Refusal, 'status' | 'retryAfter' | 'error'>;

/** Runs a turn that has to be refused. */
export type Refuse = (service: Service, body: object) => Promise<RefusedTurn>;

/** Every transport that a turn can be refused on. */
export const REFUSED_TURNS: readonly (readonly [transport: string, refuse: Refuse])[] = TRANSPORTS.map((transport) => [
  transport.name,
  async (service, body) => {
    const refusal: unknown = await transport.run(service, body).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (!(refusal instanceof Refusal)) throw new Error('the turn must be refused, not begin', { cause: refusal });
    const { status, retryAfter, error } = refusal;
    return { status, retryAfter, error };
  },
]);

/** Runs a turn that names a session, to its end. Rejects with Refusal when it is refused. */
export type SessionTurn = (service: Service, sessionId: string, body?: object) => Promise<WireResponse>;

/** What a turn consists of unless a test says otherwise. */
const TURN = { model: 'scripted', input: 'Hi' };

function byHeader(transport: Transport): SessionTurn {
  return async (service, sessionId, body = {}) =>
    (await transport.run(service, { ...TURN, ...body }, { 'x-session-id': sessionId })).response;
}

const byFrame: SessionTurn = async (service, sessionId, body = {}) =>
  (await WS_TRANSPORT.run(service, { ...TURN, ...body, session_id: sessionId })).response;

const byNestedFrame: SessionTurn = async (service, sessionId, body = {}) => {
  await using client = await SocketClient.open(service);
  client.send({ type: 'response.create', response: { ...TURN, ...body, session_id: sessionId } });
  return (await client.finish()).response;
};

/** Every way for a turn to name its session, with the parameter that errors about the name point at. */
export const SESSION_TURNS: readonly (readonly [way: string, turn: SessionTurn, param: string])[] = [
  ['the header of a JSON request', byHeader(JSON_TRANSPORT), 'x-session-id'],
  ['the header of a stream', byHeader(SSE_TRANSPORT), 'x-session-id'],
  ['the header of an upgrade', byHeader(WS_TRANSPORT), 'x-session-id'],
  ['a frame', byFrame, 'session_id'],
  ['a nested frame', byNestedFrame, 'session_id'],
];
