/**
 * The floor of WebSocket: the least that a program on bare `ws` does to send the same frames. Each event is an object that is
 * built and serialised when it is sent, and what belongs to one turn of the event loop leaves the TCP socket in one write. It
 * checks nothing, keeps nothing and never waits for a client.
 */
import { createServer } from 'node:http';
import type { Socket } from 'node:net';

import { type WebSocket, WebSocketServer } from 'ws';

import { FloorAnswer } from './floor-answer.ts';
import type { FloorRequest } from './floor-response.ts';
import { listen } from './listen.ts';

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

sockets.on('connection', (socket, { socket: stream }) => {
  socket.on('message', (data: Buffer) => {
    send(new FloorAnswer(JSON.parse(data.toString()) as FloorRequest), socket, stream);
  });
});

function send(answer: FloorAnswer, socket: WebSocket, stream: Socket): void {
  const sendTurn = (): void => {
    stream.cork();
    for (const event of answer.next()) socket.send(JSON.stringify(event));
    stream.uncork();
    if (!answer.isOver) setImmediate(sendTurn);
  };
  sendTurn();
}

listen(server, 'The floor');
