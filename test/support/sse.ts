import { connect, type Socket } from 'node:net';

import { readEvents, textOf } from '../../src/testing/events/read-events.js';
import { requireRule } from '../../src/testing/events/rule.js';
import type { WireEvent } from '../../src/testing/index.js';

export { readEvents };

/** What an HTTP client got to see of an answer. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** The answer to a request for a stream: the stream, or the HTTP error instead. */
export type StreamAnswer =
  | { readonly streams: true; readonly headers: Headers; readonly events: AsyncGenerator<WireEvent, void, undefined> }
  | ({ readonly streams: false } & HttpAnswer);

/** What a request may carry besides its body. */
export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Posts JSON and waits for the whole JSON answer. */
export async function postJson(url: string, body: unknown, options: RequestOptions = {}): Promise<HttpAnswer> {
  const response = await post(url, body, options);
  return { status: response.status, headers: response.headers, body: await response.json() };
}

/** Posts JSON with `stream: true` and gives the events one by one as they arrive, framing checked. */
export async function openStream(url: string, body: object, options: RequestOptions = {}): Promise<StreamAnswer> {
  const response = await post(url, { ...body, stream: true }, options);
  const { status, headers } = response;
  const isStream = headers.get('content-type')?.startsWith('text/event-stream') === true;
  if (!isStream) return { streams: false, status, headers, body: await response.json() };
  requireRule(status === 200, `a stream must have status 200, not ${status}`);
  requireRule(headers.get('content-type') === 'text/event-stream; charset=utf-8', 'the stream must say it is UTF-8');
  return { streams: true, headers, events: readEvents(textOf(response)) };
}

/** The events of a whole stream. Throws when the answer is an HTTP error. */
export async function collectStream(
  url: string,
  body: object,
  options: RequestOptions = {},
): Promise<readonly WireEvent[]> {
  const answer = await openStream(url, body, options);
  if (!answer.streams) throw new Error(`HTTP ${answer.status} instead of a stream: ${JSON.stringify(answer.body)}`);
  return Array.fromAsync(answer.events);
}

/** An answer as raw chunks of the chunked encoding, on a socket whose reading the test controls. */
export interface RawStream {
  readonly socket: Socket;
  /** The chunks as the server wrote them, without the head. Throws unless the body is chunked. */
  chunks(): AsyncGenerator<string, void, undefined>;
}

/** Opens a stream over a bare socket. */
export function openRawStream(port: number, body: object): RawStream {
  const json = JSON.stringify({ ...body, stream: true });
  const socket = connect(port, '127.0.0.1');
  socket.write(
    `POST /v1/responses HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(json)}\r\nconnection: close\r\n\r\n${json}`,
  );
  return { socket, chunks: () => readChunks(socket) };
}

async function* readChunks(socket: Socket): AsyncGenerator<string, void, undefined> {
  let buffer = Buffer.alloc(0);
  let inBody = false;
  for await (const piece of socket as AsyncIterable<Buffer>) {
    buffer = Buffer.concat([buffer, piece]);
    if (!inBody) {
      const end = buffer.indexOf('\r\n\r\n');
      if (end < 0) continue;
      const head = buffer.toString('latin1', 0, end);
      requireRule(/^transfer-encoding: chunked$/im.test(head), `the answer must be chunked: ${head}`);
      buffer = buffer.subarray(end + 4);
      inBody = true;
    }
    for (;;) {
      const lineEnd = buffer.indexOf('\r\n');
      const size = parseInt(buffer.toString('latin1', 0, Math.max(lineEnd, 0)), 16);
      if (lineEnd < 0 || buffer.length < lineEnd + 2 + size + 2) break;
      if (size === 0) return;
      yield buffer.toString('utf8', lineEnd + 2, lineEnd + 2 + size);
      buffer = buffer.subarray(lineEnd + 2 + size + 2);
    }
  }
}

function post(url: string, body: unknown, { headers = {}, signal }: RequestOptions): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
}
