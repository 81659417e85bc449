import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FastifyReply } from 'fastify';

import type { ActiveTurn, Transport, TurnClient } from '../turn/index.js';
import { pickVendorHeaders } from '../vendor-headers.js';

/** The client of a reply, as its turn uses it. */
export function clientOf(reply: FastifyReply, transport: Transport): TurnClient {
  return {
    transport,
    onHeaders: (headers) => forwardHeaders(reply, headers),
    breakConnection: () => breakConnection(reply.raw),
  };
}

/** Stops a turn when its client disconnects before the answer is complete. */
export function stopWhenGone({ raw }: FastifyReply, turn: ActiveTurn): void {
  // It may have disconnected while its body was being read.
  if (raw.destroyed) turn.stop('disconnect');
  // On the response: the request closes once its body is read. Also applies when something else answers first, such as
  // an interceptor with a time limit; a completed turn ignores it.
  raw.once('close', () => turn.stop('disconnect'));
}

/** Sets a provider's vendor headers on the reply; headers of the service take precedence. */
function forwardHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  if (reply.raw.headersSent) return;
  for (const [name, value] of Object.entries(pickVendorHeaders(headers))) {
    if (!reply.hasHeader(name)) void reply.header(name, value);
  }
}

/**
 * Breaks the connection in the middle of the answer, like a network failure, after sending what was written. Waits for
 * previous answers of a pipelining client.
 */
function breakConnection(response: ServerResponse): void {
  // Pending data of the response is passed to the socket first.
  const destroy = (socket: Socket): void => void setImmediate(() => socket.destroySoon());
  if (response.socket !== null) destroy(response.socket);
  else response.once('socket', destroy);
}
