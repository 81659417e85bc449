import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

const answers = new WeakMap<Duplex, ServerResponse>();

/** Remembers the latest answer of each of a server's connections. */
export function trackAnswers(server: Server): void {
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => answers.set(socket, response));
}

/** Whether a whole request is being answered: what is written now would end up in its answer, or be taken for it. */
export function isAnswering(stream: Duplex): boolean {
  const answer = answers.get(stream);
  return answer !== undefined && !answer.writableFinished && (answer.headersSent || answer.req.complete);
}
