import type { ActiveTurn } from '../turn/active-turn.js';
import type { StopReason } from '../turn/stop-reason.js';

/** A place of this process for a background turn, from the delivery of its job to its end. */
export class RunSlot {
  private turn: ActiveTurn | null = null;
  private reason: StopReason | null = null;
  private readonly over = Promise.withResolvers<undefined>();

  /** `claim` aborts when the job belongs to this process no longer. */
  constructor(claim: AbortSignal) {
    claim.addEventListener('abort', () => this.stop('lost'), { once: true });
  }

  /** Resolves when the turn no longer runs here. */
  get ended(): Promise<void> {
    return this.over.promise;
  }

  /** The turn that runs here; stopped at once if the slot was stopped before. */
  hold(turn: ActiveTurn): void {
    this.turn = turn;
    if (this.reason !== null) turn.stop(this.reason);
  }

  /** Stops the turn, also one that has yet to begin. */
  stop(reason: StopReason): void {
    this.reason ??= reason;
    this.turn?.stop(reason);
  }

  end(): void {
    this.over.resolve(undefined);
  }
}
