/**
 * The floor of WebSocket: a minimal program on bare `ws` that sends the same frames. Each event is built and serialised when it
 * is sent, with one write to the TCP socket per turn of the event loop. It validates and saves nothing, and has no backpressure.
 */
import { createServer } from 'node:http';

import { WebSocketServer } from 'ws';

import { FloorAnswer } from './floor-answer.ts';
import type { FloorRequest } from './floor-snapshot.ts';
import { listen } from './listen.ts';
import { sendFrames } from './send-frames.ts';

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

sockets.on('connection', (socket, { socket: stream }) => {
  socket.on('message', (data: Buffer) => {
    sendFrames(FloorAnswer.of(JSON.parse(data.toString()) as FloorRequest), socket, stream);
  });
});

listen(server, 'The floor');
