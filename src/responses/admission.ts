import { Injectable } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { ApiError } from '../protocol/index.js';
import type { AdmittedTurn } from './admitted-turn.js';

/** Gives back what `acquire` took. Called exactly once, however the turn ended. */
export type Release = () => void | Promise<void>;

/** Decides whether a turn may run now. Limits and quotas live behind this token, never in the service. */
export abstract class Admission {
  /**
   * Resolves when the turn may run; throws ApiError (429, 503) when it may not. An implementation that queues gives the
   * place up when `signal` aborts: nobody waits for it any more.
   */
  abstract acquire(turn: AdmittedTurn, signal: AbortSignal): Promise<Release>;
}

/** Lets turns run up to MAX_RUNNING_TURNS at once. */
@Injectable()
export class BoundedAdmission extends Admission {
  private running = 0;

  constructor(private readonly environment: Environment) {
    super();
  }

  override async acquire(): Promise<Release> {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) {
      throw ApiError.of('server_is_overloaded', 'The server is running as many turns as it may. Please retry.', {
        headers: { 'retry-after': '1' },
      });
    }
    this.running += 1;
    return () => void (this.running -= 1);
  }
}
