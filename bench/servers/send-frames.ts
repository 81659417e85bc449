import type { Socket } from 'node:net';

import type { WebSocket } from 'ws';

import type { FloorAnswer } from './floor-answer.ts';

/** Sends an answer over WebSocket, with one write to the TCP socket per turn of the event loop. */
export function sendFrames(answer: FloorAnswer, socket: WebSocket, stream: Socket): void {
  const sendTurn = (): void => {
    stream.cork();
    for (const event of answer.next()) socket.send(JSON.stringify(event));
    stream.uncork();
    if (!answer.isOver) setImmediate(sendTurn);
  };
  sendTurn();
}
