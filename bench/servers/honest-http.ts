/**
 * The honest floor of JSON and SSE: the best program on bare `node:http` with the full functionality of a turn. It validates the
 * request with the service's compiled rules, creates items and ids, checks the context, resolves the settings, loads the previous
 * response, sends the Response with its tools, and saves it in a store bounded by count, bytes and age. Each event is built and
 * serialised once, with one write per turn of the event loop. It has no API keys, sessions, item references, body limits,
 * backpressure, cancellation or failures of the model.
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

/** The Response without streaming, with the member that only this form has. */
function toJson(turn: HonestTurn): string {
  const { deltas } = turn.traffic;
  const text = DELTA.repeat(deltas);
  const item = toMessage(makeId('msg'), 'assistant', toOutputText(text));
  const response = JSON.stringify(turn.completed(item, text, toUsage(8, deltas)));
  return `${response.slice(0, -1)},"output_text":${JSON.stringify(text)}}`;
}

listen(server, 'The honest floor');
