/**
 * The floor of WebSocket: the least that a program on bare `ws` does to send the same frames. Each event is an object that is
 * built and serialised when it is sent, and what belongs to one turn of the event loop leaves the TCP socket in one write. It
 * checks nothing, keeps nothing and never waits for a client.
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
