import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Clock, type Timer } from '../../time/index.js';

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
