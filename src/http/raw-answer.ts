import { type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

import type { ApiError } from '../protocol/index.js';
import type { Clock } from '../time/index.js';

/** How long a client may take to read its error, ms. */
const LINGER_MS = 1000;

/**
 * Writes an HTTP error and closes the connection, where no response object exists (protocol §7). What the client still sends is thrown away:
 * nobody would see its end among bytes that are not read, and the connection would stay.
 */
export function answerRaw(
  stream: Duplex,
  error: ApiError,
  headers: Readonly<Record<string, string>>,
  clock: Clock,
): void {
  const body = JSON.stringify(error.toBody());
  const all = Object.entries({
    ...error.headers,
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  });
  const lines = all.map(([name, value]) => `${name}: ${value}`);
  stream.end([`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ''}`, ...lines, '', body].join('\r\n'));
  stream.resume();
  const timer = clock.schedule(LINGER_MS, () => stream.destroy());
  stream.once('close', () => timer.cancel());
}

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
