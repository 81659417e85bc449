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

/** The latest answer of each connection. */
const latest = new WeakMap<Duplex, ServerResponse>();
/** The answer before it, where a client asked for the next one before it was written. */
const earlier = new WeakMap<ServerResponse, ServerResponse>();

/** Tracks the answers of each connection of a server. */
export function trackAnswers(server: Server): void {
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const before = latest.get(socket);
    if (before?.writableFinished === false) earlier.set(response, before);
    latest.set(socket, response);
  });
}

/** Whether a complete request is being answered: anything written now would become part of its answer. */
export function isAnswering(stream: Duplex): boolean {
  return pendingAnswer(stream) !== undefined;
}

/** Calls back when no complete request of a connection is being answered: at once, or after the answers. Never once the connection is closed. */
export function afterAnswers(stream: Duplex, callback: () => void): void {
  const pending = pendingAnswer(stream);
  if (pending === undefined) {
    callback();
    return;
  }
  pending.once('close', () => {
    if (stream.writable) afterAnswers(stream, callback);
  });
}

/** The last of the answers to complete requests that are not written yet. */
function pendingAnswer(stream: Duplex): ServerResponse | undefined {
  const answer = latest.get(stream);
  if (answer === undefined || answer.writableFinished) return undefined;
  if (answer.headersSent || answer.req.complete) return answer;
  // Only the last request of a connection can be incomplete.
  const before = earlier.get(answer);
  return before?.writableFinished === false ? before : undefined;
}
