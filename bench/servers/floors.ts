/**
 * The bare floors: minimal programs on bare `node:http` and bare `ws`, of which `FLOOR` names one. Each event is built and serialised
 * when it is sent, with one write per turn of the event loop. They validate and save nothing, and have no backpressure.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

import { WebSocketServer } from 'ws';

import { readTraffic } from '../traffic.ts';
import { bareSnapshots, type FloorEvent, type FloorRequest, FloorResponse, stream, toJsonAnswer } from './answer.ts';
import { beginSse, listen, readText, sendJson, writeFrames, writeSse } from './http.ts';

/** By name. */
const FLOORS = {
  sse: onText((body, reply) => {
    const request = JSON.parse(body) as FloorRequest;
    beginSse(reply);
    streamTo(request, (events, isLast) => writeSse(reply, events, isLast));
  }),
  json: onText((body, reply) => sendJson(reply, 200, JSON.stringify(toJsonAnswer(JSON.parse(body) as FloorRequest)))),
  /** Opens sockets only. */
  ws: onText((_body, reply) => reply.writeHead(404).end()),
  /** Parses what it is sent; as the next one, answers any GET at once. */
  parse: onPost((body) => ({ members: Object.keys(body).length })),
  /** Parses a request and counts its messages at one go, with three tokens that frame each. */
  tokens: onPost(async (body) => {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
    const { input } = body as { readonly input: readonly { readonly content: string }[] };
    return { input_tokens: input.reduce((sum, { content }) => sum + 3 + countTokens(content), 0) };
  }),
  /** No floor, but as bare: a collector of traces, which reads and forgets them. */
  collector: onText((_body, reply) => reply.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()),
};

/** The name of a bare floor. */
export type FloorName = keyof typeof FLOORS;

function streamTo(request: FloorRequest, write: (events: readonly FloorEvent[], isLast: boolean) => void): void {
  stream(readTraffic(request.metadata), new FloorResponse(bareSnapshots(request)), write);
}

function onText(answer: (body: string, reply: ServerResponse) => void): RequestListener {
  return (request, reply) => readText(request, (body) => answer(body, reply));
}

function onPost(answer: (body: object) => object | Promise<object>): RequestListener {
  const respond = async (request: IncomingMessage, reply: ServerResponse): Promise<void> => {
    if (request.method === 'GET') sendJson(reply, 200, '{}');
    else sendJson(reply, 200, JSON.stringify(await answer(JSON.parse(await text(request)) as object)));
  };
  return (request, reply) => void respond(request, reply);
}

const name = process.env.FLOOR as FloorName;
const server = createServer(FLOORS[name]);
if (name === 'ws') {
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket, { socket: tcp }) => {
    socket.on('message', (data: Buffer) => {
      streamTo(JSON.parse(data.toString()) as FloorRequest, (events) => writeFrames(socket, tcp, events));
    });
  });
}
listen(server);
