import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment } from '../../config/index.js';
import { bytesTaken } from '../../connections/index.js';
import type { Continuations } from '../../context/index.js';
import { Clock, type Timer } from '../../time/index.js';
import { ActiveTurn } from '../turn/active-turn.js';
import type { AdmittedTurn } from '../turn/admit.js';
import type { Door, Transport } from '../turn/turn-observer.js';
import { pickVendorHeaders } from '../vendor-headers.js';

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

/** Pauses between probes, ms; each is twice as long as the one before. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 15_000;

/** Writes something without a meaning; false when there is nothing more to probe. */
type Probe = (response: ServerResponse) => boolean;

/**
 * Tells clients that have sent all they want to send, and read on, from those that have closed the connection: both send the same FIN. Only what
 * is written tells them apart: the system of a client that is gone answers a write with RST, and the next write fails, which closes the response.
 */
@Injectable()
export class HalfClosedClients {
  constructor(private readonly clock: Clock) {}

  /**
   * Once the client has half-closed its connection, writes to it now and then, until the answer is complete or its connection has closed. Before
   * the head of the answer it writes interim responses (102), which HTTP/1.0 does not have: such a client is taken to be gone.
   */
  watch({ raw }: FastifyReply, probe: Probe = sendInterim): void {
    let timer: Timer | null = null;
    let pauseMs = FIRST_PAUSE_MS;
    const next = (): void => {
      if (raw.destroyed || raw.writableEnded || !probe(raw)) return;
      timer = this.clock.schedule(pauseMs, next);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    };
    // A client on this machine, or a proxy, has answered the first write by the next turn of the loop.
    const begin = (): void => {
      if (!raw.destroyed && !raw.writableEnded && probe(raw)) setImmediate(next);
    };
    const watchSocket = (socket: Socket): void => {
      raw.once('close', () => socket.off('end', begin));
      if (socket.readableEnded) begin();
      else socket.once('end', begin);
    };
    raw.once('close', () => timer?.cancel());
    // An answer behind others of a pipelining client has no socket yet.
    if (raw.socket === null) raw.once('socket', watchSocket);
    else watchSocket(raw.socket);
  }
}

function sendInterim(response: ServerResponse): boolean {
  if (response.headersSent) return false;
  if (response.req.httpVersionMinor === 0) {
    response.destroy();
    return false;
  }
  response.writeProcessing();
  return true;
}

/** Looks per time limit: a client is cut off up to a sixteenth of it late, because sockets do not report partial progress. */
const LOOKS = 16;

/** Disconnects clients that do not read their answers. */
@Injectable()
export class StalledClients {
  constructor(
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Disconnects a client that takes nothing of what is pending for it for CLIENT_STALL_TIMEOUT_MS, even within a large
   * write. While a model is silent nothing is pending. Call it when the answer begins; it ends with the answer.
   */
  watch({ raw }: FastifyReply): void {
    let taken: number | null = null;
    let looksInVain = 0;
    const timer = this.clock.schedule(this.environment.CLIENT_STALL_TIMEOUT_MS / LOOKS, () => {
      const before = taken;
      taken = takenOf(raw);
      looksInVain = taken !== null && taken === before ? looksInVain + 1 : 0;
      if (looksInVain < LOOKS) timer.refresh();
      else raw.destroy();
    });
    raw.once('close', () => timer.cancel());
    if (raw.destroyed) timer.cancel();
  }
}

/** Null when nothing is pending, also while the answer waits for earlier ones of a pipelining client. */
function takenOf({ socket }: ServerResponse): number | null {
  return socket === null ? null : bytesTaken(socket);
}
