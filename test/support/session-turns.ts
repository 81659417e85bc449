import { ApiClient } from './api-client.js';
import type { Service } from './service.js';
import { SocketClient } from './socket-client.js';
import { openStream } from './sse.js';
import { Refusal, type WireResponse } from './transport.js';

/** Runs a turn that names a session, to its end. Rejects with Refusal when it is refused. */
export type SessionTurn = (service: Service, sessionId: string, body?: object) => Promise<WireResponse>;

/** What a turn consists of unless a test says otherwise. */
const TURN = { model: 'scripted', input: 'Hi' };

const overJson: SessionTurn = ({ baseURL }, sessionId, body = {}) =>
  new ApiClient(baseURL, { 'x-session-id': sessionId }).create(body);

const overSse: SessionTurn = async ({ baseURL }, sessionId, body = {}) => {
  const headers = { 'x-session-id': sessionId };
  const answer = await openStream(`${baseURL}/responses`, { ...TURN, ...body }, { headers });
  if (!answer.streams) throw new Refusal(answer.status, answer.body);
  const events = await Array.fromAsync(answer.events);
  return events.at(-1)?.['response'] as WireResponse;
};

const byUpgrade: SessionTurn = async (service, sessionId, body = {}) => {
  await using client = await SocketClient.open(service, { headers: { 'x-session-id': sessionId } });
  return (await client.turn({ ...TURN, ...body })).response;
};

const byFrame: SessionTurn = async (service, sessionId, body = {}) => {
  await using client = await SocketClient.open(service);
  return (await client.turn({ ...TURN, ...body, session_id: sessionId })).response;
};

const byNestedFrame: SessionTurn = async (service, sessionId, body = {}) => {
  await using client = await SocketClient.open(service);
  client.send({ type: 'response.create', response: { ...TURN, ...body, session_id: sessionId } });
  return (await client.finish()).response;
};

/** Every way for a turn to name its session, with the parameter that errors about the name point at. */
export const SESSION_TURNS: readonly (readonly [way: string, turn: SessionTurn, param: string])[] = [
  ['the header of a JSON request', overJson, 'x-session-id'],
  ['the header of a stream', overSse, 'x-session-id'],
  ['the header of an upgrade', byUpgrade, 'x-session-id'],
  ['a frame', byFrame, 'session_id'],
  ['a nested frame', byNestedFrame, 'session_id'],
];
