import type { Clock, Timer } from '../../time/index.js';

/** Timeouts of an upstream, ms. */
export interface Timeouts {
  /** Until a connection is accepted. */
  readonly connectMs: number;
  /** Until the first byte of the body. */
  readonly firstByteMs: number;
  /** Between two pieces of the body. */
  readonly idleMs: number;
}

/** An upstream exceeded a timeout. */
export class UpstreamTimeoutError extends Error {
  override readonly name = 'UpstreamTimeoutError';
}

/** Enforces the timeouts of one exchange, and that it ends with the turn. With `totalMs` there is one limit for all of it. */
export class ExchangeTimer {
  /** What is stopped, with the reason of the signal or with UpstreamTimeoutError. */
  exchange: { stop(reason: unknown): void } | null = null;
  private readonly onAbort = (): void => this.exchange?.stop(this.signal.reason);
  private timer: Timer;
  private awaitsFirstByte = true;
  private isRunning = true;
  private restLimitMs: number | null = null;
  private readonly hasTotal: boolean;
  /** Whether pieces do not restart the timer any more. */
  private isFixed: boolean;

  constructor(
    private readonly signal: AbortSignal,
    private readonly clock: Clock,
    private readonly timeouts: Timeouts,
    totalMs?: number,
  ) {
    this.hasTotal = totalMs !== undefined;
    this.isFixed = this.hasTotal;
    const limitMs = totalMs ?? timeouts.firstByteMs;
    this.timer = clock.schedule(limitMs, () => {
      if (this.isFixed) this.stop('sent no whole answer', limitMs);
      else this.expire('sent no answer', limitMs);
    });
    signal.addEventListener('abort', this.onAbort, { once: true });
  }

  /** Suspends the timeout while a received piece is processed. */
  pause(): void {
    this.isRunning = false;
  }

  /** Restarts the timeout for the next piece. */
  resume(): void {
    this.isRunning = true;
    if (this.isFixed) return;
    if (this.restLimitMs !== null) this.startRest(this.restLimitMs);
    else if (this.awaitsFirstByte) this.startIdle();
    else this.timer.refresh();
  }

  /** Limits the rest of the exchange to `limitMs`, from the next `resume` on. */
  limitRest(limitMs: number): void {
    this.restLimitMs = limitMs;
  }

  /** Takes `limitRest` back, from the next `resume` on. */
  liftRest(): void {
    if (this.restLimitMs === null) return;
    this.restLimitMs = null;
    this.isFixed = this.hasTotal;
    this.awaitsFirstByte = true;
  }

  /** Ends the timeouts; the exchange still ends with the signal. */
  waive(): void {
    this.isFixed = true;
    this.timer.cancel();
  }

  /** Ends the exchange. */
  end(): void {
    this.timer.cancel();
    this.signal.removeEventListener('abort', this.onAbort);
  }

  private startIdle(): void {
    this.awaitsFirstByte = false;
    this.timer.cancel();
    const { idleMs } = this.timeouts;
    this.timer = this.clock.schedule(idleMs, () => this.expire('sent no data', idleMs));
  }

  private startRest(limitMs: number): void {
    this.isFixed = true;
    this.timer.cancel();
    this.timer = this.clock.schedule(limitMs, () => this.stop('sent no end', limitMs));
  }

  private expire(what: string, afterMs: number): void {
    if (this.isRunning) this.stop(what, afterMs);
  }

  private stop(what: string, afterMs: number): void {
    this.exchange?.stop(new UpstreamTimeoutError(`the upstream ${what} for ${afterMs} ms`));
  }
}
