/** What the programs beside the service share: how they listen, read requests, and write answers with as many headers as the service. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

import type { WebSocket } from 'ws';

import type { FloorEvent } from './answer.ts';

/**
 * Listens on HOST and PORT, and writes the line that the benchmark waits for. Keeps idle connections: a program that stood still for
 * longer than Node keeps them would close one while the next request arrives on it.
 */
export function listen(server: Server): void {
  server.keepAliveTimeout = 0;
  server.listen(Number(process.env.PORT), process.env.HOST, () => {
    const { address, port } = server.address() as AddressInfo;
    process.stdout.write(`The program listens on http://${address}:${port}\n`);
  });
}

/** Reads the body of a request or answer to its end. */
export function readText(message: IncomingMessage, take: (text: string) => void): void {
  let text = '';
  message.setEncoding('utf8');
  message.on('data', (chunk: string) => (text += chunk));
  message.once('end', () => take(text));
}

/** The end of a stream. */
export const SSE_DONE = 'data: [DONE]\n\n';

/** Begins a stream. */
export function beginSse(reply: ServerResponse): void {
  reply.writeHead(200, {
    ...toHeaders(),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
}

/** An event as an SSE frame. */
export function toSseFrame(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Writes events over SSE at once. */
export function writeSse(reply: ServerResponse, events: readonly FloorEvent[], isLast: boolean): void {
  let frames = '';
  for (const event of events) frames += toSseFrame(event);
  if (isLast) reply.end(frames + SSE_DONE);
  else reply.write(frames);
}

/** Sends events over a WebSocket, with one write to its TCP socket. */
export function writeFrames(socket: WebSocket, tcp: Socket, events: readonly FloorEvent[]): void {
  tcp.cork();
  for (const event of events) socket.send(JSON.stringify(event));
  tcp.uncork();
}

/** Sends an answer without streaming. */
export function sendJson(reply: ServerResponse, status: number, body: string): void {
  reply.writeHead(status, {
    ...toHeaders(),
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(body),
  });
  reply.end(body);
}

function toHeaders() {
  return { 'x-request-id': `req_${randomUUID()}`, 'openai-version': '2020-10-01', 'openai-processing-ms': '0' };
}
