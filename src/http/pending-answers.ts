import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const answers = new WeakMap<Duplex, ServerResponse>();

/** Tracks the latest answer of each connection of a server. */
export function trackAnswers(server: Server): void {
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response));
}

/** Whether a complete request is being answered: anything written now would become part of its answer. */
export function isAnswering(stream: Duplex): boolean {
  const answer = answers.get(stream);
  return answer !== undefined && !answer.writableFinished && (answer.headersSent || answer.req.complete);
}
