import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FastifyReply } from 'fastify';

import { pickVendorHeaders } from '../vendor-headers.js';

/** A signal that aborts when the client goes away before it has its whole answer. */
export function whenClientGone({ raw }: FastifyReply): AbortSignal {
  const aborter = new AbortController();
  // It may have gone while its body was still being read and decompressed.
  if (raw.destroyed) aborter.abort();
  // On the response: the request closes as soon as its body is read.
  raw.once('close', () => {
    if (!raw.writableFinished) aborter.abort();
  });
  return aborter.signal;
}

/**
 * Cuts a client off that takes nothing of its answer for `timeoutMs`. Set it when the answer begins: before, silence is the
 * model's. Any progress of the socket counts, even in the middle of a large write.
 */
export function cutOffWhenStalled({ raw }: FastifyReply, timeoutMs: number): void {
  raw.setTimeout(timeoutMs, () => raw.destroy());
}

/** Puts a provider's vendor headers on the reply; what the service says itself stays. */
export function forwardHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  if (reply.raw.headersSent) return;
  for (const [name, value] of Object.entries(pickVendorHeaders(headers))) {
    if (!reply.hasHeader(name)) void reply.header(name, value);
  }
}

/**
 * Breaks the client's connection in the middle of its answer, as a broken network would; what was written before leaves.
 * Behind other answers of a pipelining client that waits for the answer's turn.
 */
export function breakConnection(response: ServerResponse): void {
  if (response.socket !== null) response.socket.destroySoon();
  // What the response holds back is handed to its socket right after this event.
  else response.once('socket', (socket: Socket) => setImmediate(() => socket.destroySoon()));
}
