/**
 * The upstream: a server with minimal cost for Chat Completions and, over SSE and WebSocket, the Responses API. It writes the traffic
 * encoded in the model name. Each delta contains the time of its writing.
 */
import { createServer, type ServerResponse } from 'node:http';

import { WebSocketServer } from 'ws';

import { answerChat } from './answer-chat.ts';
import { answerOnSocket, answerOverSse } from './answer-responses.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';

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

new WebSocketServer({ server, path: '/v1/responses', perMessageDeflate: false, skipUTF8Validation: true }).on(
  'connection',
  (socket, { socket: stream }) => answerOnSocket(socket, stream),
);

// Keeps idle connections open, because closing one during a request would fail the run.
server.keepAliveTimeout = 0;
listen(server, 'The upstream');
