import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FastifyReply } from 'fastify';

import type { ActiveTurn, Transport, TurnClient } from '../turn/index.js';
import { pickVendorHeaders } from '../vendor-headers.js';

/** What a turn may do with the client that waits for a reply. */
export function clientOf(reply: FastifyReply, transport: Transport): TurnClient {
  return {
    transport,
    onHeaders: (headers) => forwardHeaders(reply, headers),
    breakConnection: () => breakConnection(reply.raw),
  };
}

/** Stops a turn when its client goes away before it has its whole answer. */
export function stopWhenGone({ raw }: FastifyReply, turn: ActiveTurn): void {
  // It may have gone while its body was still being read and decompressed.
  if (raw.destroyed) turn.stop('disconnect');
  // On the response: the request closes as soon as its body is read. Also one that was answered otherwise, such as by an
  // interceptor with a time limit; for a turn that is over it means nothing.
  raw.once('close', () => turn.stop('disconnect'));
}

/**
 * Cuts a client off that takes nothing of its answer for `timeoutMs`. Set it when the answer begins: before, silence is the
 * model's. Any progress of the socket counts, even in the middle of a large write.
 */
export function cutOffWhenStalled({ raw }: FastifyReply, timeoutMs: number): void {
  raw.setTimeout(timeoutMs, () => raw.destroy());
}

/** Puts a provider's vendor headers on the reply; what the service says itself stays. */
function forwardHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  if (reply.raw.headersSent) return;
  for (const [name, value] of Object.entries(pickVendorHeaders(headers))) {
    if (!reply.hasHeader(name)) void reply.header(name, value);
  }
}

/**
 * Breaks the client's connection in the middle of its answer, as a broken network would; what was written before leaves.
 * Behind other answers of a pipelining client that waits for the answer's turn.
 */
function breakConnection(response: ServerResponse): void {
  // What a stream or the response holds back is handed to the socket first.
  const destroy = (socket: Socket): void => void setImmediate(() => socket.destroySoon());
  if (response.socket !== null) destroy(response.socket);
  else response.once('socket', destroy);
}
