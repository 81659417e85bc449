/**
 * The bare floors: minimal programs on bare `node:http` and bare `ws`, of which `FLOOR` names one. Each event is built and serialised
 * when it is sent, with one write per turn of the event loop. They validate and save nothing, and have no backpressure.
 */
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createGunzip } from 'node:zlib';

import { WebSocketServer } from 'ws';

import { readTraffic, toChunk, toVector } from '../traffic.ts';
import { bareSnapshots, type FloorRequest, stream, toJsonAnswer } from './answer.ts';
import { beginSse, listen, readText, sendJson, writeFrames, writeSse } from './http.ts';

let vectors: readonly Float32Array[] | undefined;

function productOf(one: Float32Array, other: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < one.length; at++) sum += (one[at] as number) * (other[at] as number);
  return sum;
}

/** By name. */
const FLOORS = {
  sse: onText((body, reply) => {
    const request = JSON.parse(body) as FloorRequest;
    beginSse(reply);
    stream(readTraffic(request.metadata), bareSnapshots(request), (events, isLast) => writeSse(reply, events, isLast));
  }),
  json: onText((body, reply) => sendJson(reply, 200, JSON.stringify(toJsonAnswer(JSON.parse(body) as FloorRequest)))),
  /** Opens sockets only. */
  ws: onText((_body, reply) => reply.writeHead(404).end()),
  /** Unpacks and parses what it is sent; as the next one, answers any GET at once. */
  parse: onPost(async (request) => {
    const isPacked = request.headers['content-encoding'] === 'gzip';
    const body = JSON.parse(await text(isPacked ? request.pipe(createGunzip()) : request)) as object;
    return { members: Object.keys(body).length };
  }),
  /** Parses a request and counts its messages at one go, with three tokens that frame each. */
  tokens: onPost(async (request) => {
    const { countTokens } = await import('gpt-tokenizer/encoding/o200k_base');
    const { input } = JSON.parse(await text(request)) as { readonly input: readonly { readonly content: string }[] };
    return { input_tokens: input.reduce((sum, { content }) => sum + 3 + countTokens(content), 0) };
  }),
  /** Compares a query with CHUNKS vectors, and gives the nearest ten. */
  vectors: onPost(async (request) => {
    vectors ??= Array.from({ length: Number(process.env.CHUNKS) }, (_, index) => toVector(toChunk(index)));
    const { query } = JSON.parse(await text(request)) as { readonly query: string };
    const sought = toVector(query);
    const scores = vectors.map((vector, index) => ({ index, score: productOf(sought, vector) }));
    return { data: scores.sort((one, other) => other.score - one.score).slice(0, 10) };
  }),
  /** No floor, but as bare: a collector of traces, which reads and forgets them. */
  collector: onText((_body, reply) => reply.writeHead(200, { 'content-type': 'application/x-protobuf' }).end()),
};

/** The name of a bare floor. */
export type FloorName = keyof typeof FLOORS;

function onText(answer: (body: string, reply: ServerResponse) => void): RequestListener {
  return (request, reply) => readText(request, (body) => answer(body, reply));
}

function onPost(answer: (request: IncomingMessage) => Promise<object>): RequestListener {
  return (request, reply) => {
    if (request.method === 'GET') sendJson(reply, 200, '{}');
    else void answer(request).then((value) => sendJson(reply, 200, JSON.stringify(value)));
  };
}

const name = process.env.FLOOR as FloorName;
const server = createServer(FLOORS[name]);
if (name === 'ws') {
  new WebSocketServer({ server, perMessageDeflate: false }).on('connection', (socket, { socket: tcp }) => {
    socket.on('message', (data: Buffer) => {
      const request = JSON.parse(data.toString()) as FloorRequest;
      stream(readTraffic(request.metadata), bareSnapshots(request), (events) => writeFrames(socket, tcp, events));
    });
  });
}
listen(server);
