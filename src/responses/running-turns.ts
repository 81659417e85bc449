import { Injectable } from '@nestjs/common';

import { ApiError } from '../protocol/index.js';
import { type StopReason, TurnStoppedError } from './stop-reason.js';

/** One turn while it runs. */
export class RunningTurn {
  private readonly aborter = new AbortController();

  constructor(readonly responseId: string) {}

  /** Aborts, with a TurnStoppedError as its reason, when the turn is to stop. */
  get signal(): AbortSignal {
    return this.aborter.signal;
  }

  /** Stops the turn; the first reason counts. */
  stop(reason: StopReason): void {
    if (!this.signal.aborted) this.aborter.abort(new TurnStoppedError(reason));
  }
}

/** Every turn this process is running, by response id. Shutdown closes the door here and waits for the rest to leave. */
@Injectable()
export class RunningTurns {
  private readonly turns = new Map<string, RunningTurn>();
  private closed = false;
  private whenIdle = Promise.withResolvers<undefined>();

  get size(): number {
    return this.turns.size;
  }

  /** Adds a turn. Throws 503 `service_unavailable` once the process is shutting down. */
  begin(turn: RunningTurn): void {
    if (this.closed) {
      throw ApiError.of('service_unavailable', 'The server is shutting down. Please retry your request.', {
        headers: { 'retry-after': '1', connection: 'close' },
      });
    }
    this.turns.set(turn.responseId, turn);
  }

  end(turn: RunningTurn): void {
    this.turns.delete(turn.responseId);
    if (this.closed && this.turns.size === 0) this.whenIdle.resolve(undefined);
  }

  /** Lets no new turn in; resolves when the last running one has ended. */
  close(): Promise<void> {
    this.closed = true;
    if (this.turns.size === 0) this.whenIdle.resolve(undefined);
    return this.whenIdle.promise;
  }

  stopAll(reason: StopReason): void {
    for (const turn of this.turns.values()) turn.stop(reason);
  }
}
