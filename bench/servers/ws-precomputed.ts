/** The floor of WebSocket without building, serialising and framing events: the same bytes, precomputed. */
import { createServer } from 'node:http';

import { WebSocketServer } from 'ws';

import { listen } from './listen.ts';
import { PrecomputedAnswers } from './precomputed-answers.ts';

const answers = new PrecomputedAnswers((events) =>
  Buffer.concat(events.map((event) => toFrame(Buffer.from(JSON.stringify(event))))),
);

const server = createServer();
const sockets = new WebSocketServer({ server, perMessageDeflate: false });

sockets.on('connection', (socket, { socket: stream }) => {
  socket.on('message', (data: Buffer) => answers.send(data.toString(), (chunk) => void stream.write(chunk)));
});

/** An unmasked text message in one frame (RFC 6455 section 5.2), shorter than 64 kB. */
function toFrame(message: Buffer): Buffer {
  const { length } = message;
  const head = length < 126 ? [0x81, length] : [0x81, 126, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from(head), message]);
}

listen(server, 'The floor of precomputed bytes');
