import type { ServerResponse } from 'node:http';

import type { FloorAnswer } from './floor-answer.ts';
import { SSE_DONE, toSseFrames, toSseHeaders } from './sse-format.ts';

/** Streams an answer, with one write per turn of the event loop. */
export function sendSse(answer: FloorAnswer, reply: ServerResponse): void {
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
