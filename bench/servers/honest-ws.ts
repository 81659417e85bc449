/**
 * The honest floor of WebSocket: the best program on bare `ws` with the full functionality of a turn, like `honest-http.ts`. It
 * has no lanes, sessions, warm-ups, connection-local responses, backpressure, cancellation or failures of the model.
 */
import { createServer } from 'node:http';

import { WebSocketServer } from 'ws';

import { checkFrame } from '../validation/built.ts';
import { FloorAnswer } from './floor-answer.ts';
import { toRefusal } from './honest-error.ts';
import { HonestStore } from './honest-store.ts';
import { HonestTurn } from './honest-turn.ts';
import { listen } from './listen.ts';
import { sendFrames } from './send-frames.ts';

const store = new HonestStore();
const server = createServer();
const sockets = new WebSocketServer({ server, path: '/v1/responses', perMessageDeflate: false });

sockets.on('connection', (socket, { socket: stream }) => {
  socket.on('message', (data: Buffer) => {
    try {
      const turn = begin(data.toString());
      sendFrames(new FloorAnswer(turn.traffic, turn), socket, stream);
    } catch (error) {
      socket.send(JSON.stringify({ type: 'error', status: 400, ...toRefusal(error) }));
    }
  });
});

function begin(text: string): HonestTurn {
  const frame = JSON.parse(text) as { readonly type?: unknown } | null;
  if (frame?.type !== 'response.create') throw new Error("Expected 'response.create'.");
  return new HonestTurn(store, checkFrame(frame), text.length);
}

listen(server, 'The honest floor');
