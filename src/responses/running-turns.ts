import { Injectable } from '@nestjs/common';

import { ApiError } from '../protocol/index.js';
import { type StopReason, TurnStoppedError } from './stop-reason.js';

/** One turn while it runs. */
export class RunningTurn {
  private readonly aborter = new AbortController();
  /** Ends what the turn waits for. Not a listener of the signal: there would be one per batch of the model. */
  private interrupt: (reason: unknown) => void = () => undefined;

  constructor(readonly responseId: string) {}

  /** Aborts, with a TurnStoppedError as its reason, when the turn is to stop. */
  get signal(): AbortSignal {
    return this.aborter.signal;
  }

  /** Stops the turn; the first reason counts. */
  stop(reason: StopReason): void {
    if (this.signal.aborted) return;
    this.aborter.abort(new TurnStoppedError(reason));
    this.interrupt(this.signal.reason);
  }

  /**
   * Waits for a promise, but no longer than until the turn is to stop; then it throws the signal's reason. A turn waits for one
   * thing at a time.
   */
  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.interrupt = reject;
      if (this.signal.aborted) reject(this.signal.reason as Error);
      promise.then(resolve, reject);
    });
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
