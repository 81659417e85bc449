/**
 * The floor of SSE: the least that a program on bare `node:http` does to send the same events. Each is an object that is built
 * and serialised when it is sent, and what belongs to one turn of the event loop leaves in one write. It checks nothing, keeps
 * nothing and never waits for a client.
 */
import { createServer, type ServerResponse } from 'node:http';

import { FloorAnswer } from './floor-answer.ts';
import type { FloorRequest } from './floor-response.ts';
import { listen } from './listen.ts';
import { readText } from './read-text.ts';
import { SSE_DONE, toSseFrames, toSseHeaders } from './sse-format.ts';

const server = createServer((request, reply) => {
  readText(request, (text) => send(new FloorAnswer(JSON.parse(text) as FloorRequest), reply));
});

function send(answer: FloorAnswer, reply: ServerResponse): void {
  const sendTurn = (): void => {
    const frames = toSseFrames(answer.next());
    if (answer.isOver) {
      reply.end(frames + SSE_DONE);
      return;
    }
    reply.write(frames);
    setImmediate(sendTurn);
  };
  reply.writeHead(200, toSseHeaders());
  sendTurn();
}

listen(server, 'The floor');
