import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { ApiError, type Usage } from '../../protocol/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { AdmittedTurn } from './admit.js';
import type { TurnEstimate } from './turn-estimate.js';

/** The place of a turn that runs. */
export interface Lease {
  /** Headers for the client, such as `x-ratelimit-remaining-tokens`; only names that begin with `x-` reach it. */
  readonly headers?: Readonly<Record<string, string>>;

  /**
   * Gives the place back. Called exactly once, however the turn ended, with what the turn used: null when no usage is known,
   * for example because the turn was refused. It is not awaited; what it throws is logged.
   */
  release(usage: Usage | null): MaybePromise<void>;
}

/** Decides whether a turn may run now. Limits and quotas implement this contract; the service itself has none. */
export abstract class Admission {
  /**
   * Gives a lease when the turn may run, at once or later; throws ApiError (429, 503) when it may not. An implementation that
   * queues must give the place up when `signal` aborts: the turn has ended. `estimate` is computed when it is read.
   */
  abstract acquire(turn: AdmittedTurn, estimate: TurnEstimate, signal: AbortSignal): MaybePromise<Lease>;
}

/** Lets turns run up to MAX_RUNNING_TURNS at once. */
@Injectable()
export class BoundedAdmission extends Admission {
  private running = 0;
  private readonly lease: Lease = { release: () => void (this.running -= 1) };

  constructor(private readonly environment: Environment) {
    super();
  }

  override acquire(): Lease {
    if (this.running >= this.environment.MAX_RUNNING_TURNS) {
      throw ApiError.of('server_is_overloaded', 'The server is running as many turns as it may. Please retry.', {
        headers: { 'retry-after': '1' },
      });
    }
    this.running += 1;
    return this.lease;
  }
}
