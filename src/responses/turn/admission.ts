import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError, type Usage } from '../../protocol/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { AdmittedTurn } from './admit.js';
import type { TurnEstimate } from './turn-estimate.js';

/** The permission for a turn to run. */
export interface Lease {
  /** Headers for the client, such as `x-ratelimit-remaining-tokens`; only names that begin with `x-` reach it. */
  readonly headers?: Readonly<Record<string, string>>;

  /**
   * Releases the permission. Called exactly once, however the turn ended, with its usage: null when none is known, for
   * example after a refusal. Not awaited; errors are logged.
   */
  release(usage: Usage | null): MaybePromise<void>;
}

/**
 * Decides whether a turn may run now. Implement it for limits and quotas; the default only bounds the number of turns.
 */
export abstract class Admission {
  /**
   * Returns a lease when the turn may run, synchronously or as a promise; throws ApiError (429, 503) when it may not.
   * An implementation that queues must give up when `signal` aborts: the turn has ended. `estimate` is computed on
   * access.
   */
  abstract acquire(turn: AdmittedTurn, estimate: TurnEstimate, signal: AbortSignal): MaybePromise<Lease>;
}

/** Lets up to MAX_RUNNING_TURNS turns run at once. */
@Injectable()
export class BoundedAdmission extends Admission {
  private running = 0;
  private readonly lease: Lease = { release: () => void (this.running -= 1) };

  constructor(private readonly environment: Environment) {
    super();
  }

  override acquire(): Lease {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) {
      throw ApiError.of('server_is_overloaded', 'The server has reached its limit of running turns. Please retry.', {
        headers: { 'retry-after': '1' },
      });
    }
    this.running += 1;
    return this.lease;
  }
}
