import type { ServerResponse } from 'node:http';

import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import { Environment } from '../../config/index.js';
import { bytesTaken } from '../../connections/index.js';
import { Clock } from '../../time/index.js';

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
