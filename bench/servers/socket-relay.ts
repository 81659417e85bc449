/**
 * The bare relay before an upstream with the Responses API over WebSocket: as the one over SSE, with bare `ws` and a pool of sockets
 * that stay open.
 */
import { createServer, type ServerResponse } from 'node:http';

import { WebSocket } from 'ws';

import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { RelayedEvents } from './relayed-events.ts';

const upstream = `${process.env.UPSTREAM ?? ''}/v1/responses`.replace('http', 'ws');
const idle: WebSocket[] = [];

const server = createServer((request, reply) => {
  readText(request, (text) => {
    const frame = JSON.stringify({ type: 'response.create', ...(JSON.parse(text) as object) });
    const socket = idle.pop();
    if (socket === undefined) open(frame, reply);
    else ask(socket, frame, reply);
  });
});

function open(frame: string, reply: ServerResponse): void {
  const socket = new WebSocket(upstream, { perMessageDeflate: false, skipUTF8Validation: true });
  socket.once('open', () => ask(socket, frame, reply));
}

function ask(socket: WebSocket, frame: string, reply: ServerResponse): void {
  const events = new RelayedEvents(reply);
  const take = (data: Buffer): void => {
    if (!events.take(data.toString())) return;
    socket.off('message', take);
    idle.push(socket);
  };
  socket.on('message', take);
  socket.send(frame);
}

listen(server, 'The relay');
