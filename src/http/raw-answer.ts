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

/** The latest answer of a connection, and the one before it if that was not written yet when its client asked for the latest one. */
interface Answers {
  readonly latest: ServerResponse;
  readonly before: ServerResponse | undefined;
}

const answers = new WeakMap<Duplex, Answers>();

/** The events of a connection by which Node tells its answers that the client reads again, and that it has left. */
const WATCHED = ['drain', 'close'] as const;

/** Node's listeners of these events. */
const watchers = new WeakMap<Duplex, readonly (readonly [event: string, listener: () => void])[]>();

/**
 * Tracks the last two answers of each connection of a server, and how Node watches the connection. Answers before the last two must not stay in
 * memory: a client may pipeline for hours.
 */
export function trackAnswers(server: Server): void {
  // Node has added its listeners by then.
  server.on('connection', (socket: Duplex) => {
    const listenersOf = (event: string) => socket.listeners(event) as (() => void)[];
    watchers.set(
      socket,
      WATCHED.flatMap((event) => listenersOf(event).map((listener) => [event, listener] as const)),
    );
  });
  server.on('request', ({ socket }: IncomingMessage, latest: ServerResponse) => {
    const previous = answers.get(socket)?.latest;
    answers.set(socket, { latest, before: previous?.writableFinished === false ? previous : undefined });
  });
}

/** Whether a complete request is being answered: anything written now would become part of its answer. */
export function isAnswering(stream: Duplex): boolean {
  return pendingAnswer(stream) !== undefined;
}

/** Has Node watch a connection again that it has handed over: its answers learn that the client reads again, and that it has left. */
export function keepWatching(stream: Duplex): void {
  for (const [event, listener] of watchers.get(stream) ?? []) {
    if (!stream.listeners(event).includes(listener)) stream.on(event, listener);
  }
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
  const { latest, before } = answers.get(stream) ?? {};
  if (latest === undefined || latest.writableFinished) return undefined;
  if (latest.headersSent || latest.req.complete) return latest;
  // Only the last request of a connection can be incomplete.
  return before?.writableFinished === false ? before : undefined;
}
