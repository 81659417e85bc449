import { once } from 'node:events';

import type { WebSocket } from 'ws';

import { toJsonRequestBody, toRequestBody } from '../traffic.ts';
import { COMPLETED, openSocket } from './open-socket.ts';

/** Long enough that a client can disconnect before its end. */
const TRAFFIC = { deltas: 64, burst: 1 };

/** Turns per chain. */
const TURNS = 5;

const STREAMED = toRequestBody('bench', TRAFFIC);
const UNKNOWN_MODEL = toRequestBody('nothing', TRAFFIC);

/** One action of a client; resolves with the number of its turns. Rejects on a wrong answer. */
type Client = (url: string) => Promise<number>;

/** All kinds of clients. */
export const CLIENTS: readonly Client[] = [stream, converse, talk, leaveStream, leaveSocket, beWrong];

/** Reads a stream to its end. */
async function stream(url: string): Promise<number> {
  const text = await (await post(url, STREAMED, 200)).text();
  if (!text.endsWith('data: [DONE]\n\n')) throw new Error(`a stream ended with: ${text.slice(-200)}`);
  return 1;
}

/** A chain of a few turns in JSON; deletes the last response. */
async function converse(url: string): Promise<number> {
  const request = JSON.parse(toJsonRequestBody('bench', TRAFFIC)) as object;
  let id: string | undefined;
  for (let turn = 0; turn < TURNS; turn++) {
    const answer = await post(url, JSON.stringify({ ...request, previous_response_id: id }), 200);
    ({ id } = (await answer.json()) as { readonly id: string });
  }
  await (await fetch(`${url}/${id ?? ''}`, { method: 'DELETE' })).text();
  return TURNS;
}

/** A chain on a socket, with an invalid frame in between. */
async function talk(url: string): Promise<number> {
  const socket = await openSocket(url.replace('http', 'ws'));
  for (let turn = 0; turn < TURNS; turn++) {
    socket.send('{"type":"nonsense"}');
    await receive(socket, '{"type":"error"');
    socket.send(`{"type":"response.create",${STREAMED.slice(1)}`);
    await receive(socket, COMPLETED);
  }
  socket.close();
  await once(socket, 'close');
  return TURNS;
}

/** Disconnects in the middle of a stream. */
async function leaveStream(url: string): Promise<number> {
  const { body } = await post(url, STREAMED, 200);
  const reader = body?.getReader();
  await reader?.read();
  await reader?.cancel();
  return 1;
}

/** Terminates its socket in the middle of a turn. */
async function leaveSocket(url: string): Promise<number> {
  const socket = await openSocket(url.replace('http', 'ws'));
  socket.send(`{"type":"response.create",${STREAMED.slice(1)}`);
  await receive(socket, '{"type":"response.created"');
  socket.terminate();
  return 1;
}

/** Sends invalid requests: an unknown model, an unknown response, and invalid JSON. */
async function beWrong(url: string): Promise<number> {
  await (await post(url, UNKNOWN_MODEL, 404)).text();
  await (await post(url, toRequestBody('bench', TRAFFIC, 'resp_nothing'), 400)).text();
  await (await post(url, '{"model":', 400)).text();
  return 3;
}

async function post(url: string, body: string, status: number): Promise<Response> {
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  if (answer.status === status) return answer;
  throw new Error(`status ${answer.status} instead of ${status}: ${await answer.text()}`);
}

/** Waits for a message with this beginning. */
async function receive(socket: WebSocket, start: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const look = (data: Buffer): void => {
    if (data.toString('utf8', 0, start.length) === start) resolve(data);
  };
  const refuse = (): void => reject(new Error(`the socket was closed before ${start}`));
  socket.on('message', look).once('close', refuse);
  try {
    await promise;
  } finally {
    socket.off('message', look).off('close', refuse);
  }
}
