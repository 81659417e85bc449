/**
 * The honest floor of JSON and SSE: the best program on bare `node:http` that does all the work of a turn. It checks the request
 * with the service's own compiled rules, makes items and ids, checks the conversation, resolves the settings, looks up what the
 * request continues, shows the Response with its tools, and keeps it in a store that is bounded by count, bytes and age. Each
 * event is built and serialised once, when it is sent, and one turn of the event loop is one write. It knows no keys, sessions,
 * references to items or limits of bodies, waits for no client that lags, cancels nothing, and its model never fails.
 */
import { createServer, type ServerResponse } from 'node:http';

import { DELTA } from '../traffic.ts';
import { checkRequest } from '../validation/built.ts';
import { FloorAnswer } from './floor-answer.ts';
import { makeId, toMessage, toOutputText } from './floor-items.ts';
import { toUsage } from './floor-snapshot.ts';
import { toRefusal } from './honest-error.ts';
import { HonestStore } from './honest-store.ts';
import { HonestTurn } from './honest-turn.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { sendJson } from './send-json.ts';
import { sendSse } from './send-sse.ts';

const store = new HonestStore();

const server = createServer((request, reply) => {
  if (request.method !== 'POST' || request.url !== '/v1/responses') reply.writeHead(404).end();
  else readText(request, (text) => answer(text, reply));
});

function answer(text: string, reply: ServerResponse): void {
  try {
    const request = checkRequest(JSON.parse(text));
    const turn = new HonestTurn(store, request, text.length);
    if (request.stream === true) sendSse(new FloorAnswer(turn.traffic, turn), reply);
    else sendJson(reply, 200, toJson(turn));
  } catch (error) {
    sendJson(reply, 400, JSON.stringify(toRefusal(error)));
  }
}

/** The Response in one piece, with the member that only this form of it has. */
function toJson(turn: HonestTurn): string {
  const { deltas } = turn.traffic;
  const text = DELTA.repeat(deltas);
  const item = toMessage(makeId('msg'), 'assistant', toOutputText(text));
  const response = JSON.stringify(turn.completed(item, text, toUsage(8, deltas)));
  return `${response.slice(0, -1)},"output_text":${JSON.stringify(text)}}`;
}

listen(server, 'The honest floor');
