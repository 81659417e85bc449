import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError } from '../../protocol/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { AdmittedTurn } from './admit.js';

/** Gives back what `acquire` took. Called exactly once, however the turn ended. */
export type Release = () => void | Promise<void>;

/** Decides whether a turn may run now. Limits and quotas live behind this token, never in the service. */
export abstract class Admission {
  /**
   * Gives a place when the turn may run, at once or later; throws ApiError (429, 503) when it may not. An implementation that
   * queues gives the place up when `signal` aborts: nobody waits for it any more.
   */
  abstract acquire(turn: AdmittedTurn, signal: AbortSignal): MaybePromise<Release>;
}

/** Lets turns run up to MAX_RUNNING_TURNS at once. */
@Injectable()
export class BoundedAdmission extends Admission {
  private running = 0;
  private readonly release: Release = () => void (this.running -= 1);

  constructor(private readonly environment: Environment) {
    super();
  }

  override acquire(): Release {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) {
      throw ApiError.of('server_is_overloaded', 'The server is running as many turns as it may. Please retry.', {
        headers: { 'retry-after': '1' },
      });
    }
    this.running += 1;
    return this.release;
  }
}
