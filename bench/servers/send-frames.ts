import type { Socket } from 'node:net';

import type { WebSocket } from 'ws';

import type { FloorAnswer } from './floor-answer.ts';

/** Sends an answer over WebSocket: what belongs to one turn of the event loop leaves the TCP socket in one write. */
export function sendFrames(answer: FloorAnswer, socket: WebSocket, stream: Socket): void {
  const sendTurn = (): void => {
    stream.cork();
    for (const event of answer.next()) socket.send(JSON.stringify(event));
    stream.uncork();
    if (!answer.isOver) setImmediate(sendTurn);
  };
  sendTurn();
}
