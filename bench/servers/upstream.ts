/**
 * The upstream: a server with minimal cost for Chat Completions and, over SSE and WebSocket, the Responses API. It writes the traffic
 * encoded in the model name. Each delta contains the time of its writing.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';

import { WebSocketServer } from 'ws';

import { makeStamp, readModel } from '../traffic.ts';
import { bareSnapshots, type FloorEvent, FloorResponse, stream, type StreamedAnswer } from './answer.ts';
import { beginSse, listen, readText, sendJson, SSE_DONE, writeFrames, writeSse } from './http.ts';

function answerChat(body: string, reply: ServerResponse): void {
  const { model, stream: isStreamed } = JSON.parse(body) as { readonly model: string; readonly stream?: boolean };
  if (isStreamed !== true) {
    sendJson(reply, 200, JSON.stringify(toCompletion(model)));
    return;
  }
  reply.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' });
  const write = (frames: readonly string[], isLast: boolean): void => {
    if (isLast) reply.end(frames.join(''));
    else reply.write(frames.join(''));
  };
  stream(readModel(model), toChunks(model), write, makeStamp);
}

function toHead(model: string, object: string): object {
  return { id: `chatcmpl-${randomUUID()}`, object, created: 1_795_219_200, model };
}

function toChatUsage(deltas: number): object {
  return { prompt_tokens: 8, completion_tokens: deltas, total_tokens: 8 + deltas };
}

function toCompletion(model: string): object {
  const { deltas } = readModel(model);
  const message = { role: 'assistant', content: makeStamp().repeat(deltas) };
  const choices = [{ index: 0, message, logprobs: null, finish_reason: 'stop' }];
  return { ...toHead(model, 'chat.completion'), choices, usage: toChatUsage(deltas) };
}

/** The chunks of one completion as SSE frames, with deltas of text that needs no escapes. */
function toChunks(model: string): StreamedAnswer<string> {
  const start = `data: ${JSON.stringify(toHead(model, 'chat.completion.chunk')).slice(0, -1)},"choices":[`;
  const toFrame = (delta: string, reason: string): string =>
    `${start}{"index":0,"delta":{${delta}},"logprobs":null,"finish_reason":${reason}}],"usage":null}\n\n`;
  return {
    open: () => [toFrame('"role":"assistant","content":""', 'null')],
    delta: (text) => toFrame(`"content":"${text}"`, 'null'),
    close: (deltas) => [
      toFrame('', '"stop"'),
      `${start}],"usage":${JSON.stringify(toChatUsage(deltas))}}\n\n${SSE_DONE}`,
    ],
  };
}

function answerOverSse(body: string, reply: ServerResponse): void {
  beginSse(reply);
  answer(body, (events, isLast) => writeSse(reply, events, isLast));
}

function answer(body: string, write: (events: readonly FloorEvent[], isLast: boolean) => void): void {
  const { model } = JSON.parse(body) as { readonly model: string };
  stream(readModel(model), new FloorResponse(bareSnapshots({ model, metadata: {} })), write, makeStamp);
}

const ROUTES: Readonly<Record<string, (body: string, reply: ServerResponse) => void>> = {
  'POST /v1/chat/completions': answerChat,
  'POST /v1/responses': answerOverSse,
};

const server = createServer((request, reply) => {
  readText(request, (text) => {
    const route = ROUTES[`${request.method ?? ''} ${request.url ?? ''}`];
    if (route === undefined) reply.writeHead(404).end();
    else route(text, reply);
  });
});
const sockets = new WebSocketServer({
  server,
  path: '/v1/responses',
  perMessageDeflate: false,
  skipUTF8Validation: true,
});
sockets.on('connection', (socket, { socket: tcp }) => {
  socket.on('message', (data: Buffer) => answer(data.toString(), (events) => writeFrames(socket, tcp, events)));
});
listen(server);
