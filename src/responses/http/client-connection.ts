import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import type { FastifyReply } from 'fastify';

import type { Continuations } from '../../context/index.js';
import { ActiveTurn } from '../turn/active-turn.js';
import type { AdmittedTurn } from '../turn/admit.js';
import type { Door, Transport } from '../turn/turn-observer.js';
import { pickVendorHeaders } from '../vendor-headers.js';
import type { HalfClosedClients } from './half-closed-clients.js';

/** How a turn is asked for and answered. */
interface TurnConnection {
  readonly door?: Door | undefined;
  readonly transport: Transport;
  readonly halfClosed: HalfClosedClients;
  readonly continuations?: Continuations | undefined;
}

/** The turn that a reply answers. It is stopped when its client disconnects before the answer is complete; not when it half-closes. */
export function activate(
  admitted: AdmittedTurn,
  reply: FastifyReply,
  { door = 'responses', transport, halfClosed, continuations }: TurnConnection,
): ActiveTurn {
  const { raw } = reply;
  const turn = new ActiveTurn(admitted, {
    door,
    transport,
    continuations,
    onHeaders: (headers) => forwardHeaders(reply, headers),
    breakConnection: () => breakConnection(raw),
  });
  // The client may have disconnected while its body was being read.
  if (raw.destroyed) turn.stop('disconnect');
  // On the response: the request closes once its body is read. Also applies when something else answers first, such as
  // an interceptor with a time limit; a completed turn ignores it.
  raw.once('close', () => turn.stop('disconnect'));
  halfClosed.watch(reply);
  return turn;
}

/** Sets a provider's vendor headers on the reply; headers of the service take precedence. False if the reply has begun. */
export function forwardHeaders(reply: FastifyReply, headers: Readonly<Record<string, string>>): boolean {
  if (reply.raw.headersSent) return false;
  const picked = pickVendorHeaders(headers);
  for (const name in picked) if (!reply.hasHeader(name)) void reply.header(name, picked[name]);
  return true;
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
