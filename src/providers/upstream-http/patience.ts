import type { Clock, Timer } from '../../time/index.js';

/** How long an upstream may take, ms. */
export interface Timeouts {
  /** To accept a connection. */
  readonly connectMs: number;
  /** To send the first byte of its answer's body. */
  readonly firstByteMs: number;
  /** Between two pieces of its answer. */
  readonly idleMs: number;
}

/** The signal that an upstream took longer than it may. */
export class UpstreamTimeoutError extends Error {
  override readonly name = 'UpstreamTimeoutError';
}

/** Watches one exchange: its signal aborts when nobody wants the answer any more, or when the upstream is silent too long. */
export class Patience {
  private readonly controller = new AbortController();
  private readonly onAbort = (): void => this.controller.abort(this.wanted.reason);
  private timer: Timer;
  private waitsForFirst = true;
  private waits = true;
  private endLimitMs: number | null = null;
  private hasDeadline = false;

  constructor(
    private readonly wanted: AbortSignal,
    private readonly clock: Clock,
    private readonly timeouts: Timeouts,
  ) {
    this.timer = clock.schedule(timeouts.firstByteMs, () => this.giveUp('sent no answer', timeouts.firstByteMs));
    if (wanted.aborted) this.onAbort();
    wanted.addEventListener('abort', this.onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The upstream has said something. Until it is listened to again it cannot be too slow. */
  heard(): void {
    this.waits = false;
  }

  /** The upstream is listened to again: it may be silent anew. */
  listen(): void {
    this.waits = true;
    if (this.hasDeadline) return;
    if (this.endLimitMs !== null) this.startEnd(this.endLimitMs);
    else if (this.waitsForFirst) this.startIdle();
    else this.timer.refresh();
  }

  /** Little is expected now: from when the upstream is listened to again, all of it has to come within `limitMs`. */
  hurry(limitMs: number): void {
    this.endLimitMs = limitMs;
  }

  /** The exchange is over, one way or the other. */
  end(): void {
    this.timer.cancel();
    this.wanted.removeEventListener('abort', this.onAbort);
  }

  private startIdle(): void {
    this.waitsForFirst = false;
    this.timer.cancel();
    const { idleMs } = this.timeouts;
    this.timer = this.clock.schedule(idleMs, () => this.giveUp('fell silent', idleMs));
  }

  private startEnd(limitMs: number): void {
    this.hasDeadline = true;
    this.timer.cancel();
    this.timer = this.clock.schedule(limitMs, () => this.stop('sent no end', limitMs));
  }

  private giveUp(what: string, afterMs: number): void {
    if (this.waits) this.stop(what, afterMs);
  }

  private stop(what: string, afterMs: number): void {
    this.controller.abort(new UpstreamTimeoutError(`the upstream ${what} for ${afterMs} ms`));
  }
}
