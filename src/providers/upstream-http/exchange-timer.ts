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
export class ExchangeTimer {
  private readonly controller = new AbortController();
  private readonly onAbort = (): void => this.controller.abort(this.parent.reason);
  private timer: Timer;
  private awaitsFirstByte = true;
  private isRunning = true;
  private restLimitMs: number | null = null;
  private hasDeadline = false;

  constructor(
    private readonly parent: AbortSignal,
    private readonly clock: Clock,
    private readonly timeouts: Timeouts,
  ) {
    this.timer = clock.schedule(timeouts.firstByteMs, () => this.expire('sent no answer', timeouts.firstByteMs));
    if (parent.aborted) this.onAbort();
    parent.addEventListener('abort', this.onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** The upstream has said something. Until it is listened to again it cannot be too slow. */
  pause(): void {
    this.isRunning = false;
  }

  /** The upstream is listened to again: it may be silent anew. */
  resume(): void {
    this.isRunning = true;
    if (this.hasDeadline) return;
    if (this.restLimitMs !== null) this.startRest(this.restLimitMs);
    else if (this.awaitsFirstByte) this.startIdle();
    else this.timer.refresh();
  }

  /** Little is expected now: from when the upstream is listened to again, all of it has to come within `limitMs`. */
  limitRest(limitMs: number): void {
    this.restLimitMs = limitMs;
  }

  /** The exchange is over, one way or the other. */
  end(): void {
    this.timer.cancel();
    this.parent.removeEventListener('abort', this.onAbort);
  }

  private startIdle(): void {
    this.awaitsFirstByte = false;
    this.timer.cancel();
    const { idleMs } = this.timeouts;
    this.timer = this.clock.schedule(idleMs, () => this.expire('fell silent', idleMs));
  }

  private startRest(limitMs: number): void {
    this.hasDeadline = true;
    this.timer.cancel();
    this.timer = this.clock.schedule(limitMs, () => this.stop('sent no end', limitMs));
  }

  private expire(what: string, afterMs: number): void {
    if (this.isRunning) this.stop(what, afterMs);
  }

  private stop(what: string, afterMs: number): void {
    this.controller.abort(new UpstreamTimeoutError(`the upstream ${what} for ${afterMs} ms`));
  }
}
