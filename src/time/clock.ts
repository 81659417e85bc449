/** A timer of a clock. */
export interface Timer {
  /** Starts the full delay again from now. */
  refresh(): void;
  cancel(): void;
}

/** The only source of time in the service, so that tests can control it. */
export abstract class Clock {
  /** Milliseconds since the Unix epoch. */
  abstract now(): number;

  /** Calls `callback` once after `delayMs`, of which at most 25 days count. A pending timer never keeps the process alive. */
  abstract schedule(delayMs: number, callback: () => void): Timer;

  /** Seconds since the Unix epoch, as in `created_at`. */
  nowInSeconds(): number {
    return Math.floor(this.now() / 1000);
  }

  /**
   * Waits for a promise, up to `limitMs`: undefined when the time is up. Throws the rejection of the promise within
   * that time; later results are ignored.
   */
  within<T>(promise: Promise<T>, limitMs: number): Promise<{ readonly value: T } | undefined> {
    const late = Promise.withResolvers<undefined>();
    const timer = this.schedule(limitMs, () => late.resolve(undefined));
    return Promise.race([promise.then((value) => ({ value })), late.promise]).finally(() => timer.cancel());
  }

  /** Resolves after `delayMs`, or immediately when `signal` aborts; never rejects. */
  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        timer.cancel();
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const timer = this.schedule(delayMs, wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}

/** The system clock. */
export class SystemClock extends Clock {
  override now(): number {
    return Date.now();
  }

  override schedule(delayMs: number, callback: () => void): Timer {
    return new SystemTimer(delayMs, callback);
  }
}

/** The longest delay of Node's timers, ms: for a longer one they fire at once. */
export const LONGEST_DELAY_MS = 2_147_483_647;

/** A timer that is cheap to refresh: a refresh only records the time, and an early timeout is set again. */
class SystemTimer implements Timer {
  private timeout: NodeJS.Timeout | null = null;
  private refreshedAt = -Infinity;

  constructor(
    private readonly delayMs: number,
    private readonly callback: () => void,
  ) {
    this.set(delayMs);
  }

  refresh(): void {
    if (this.timeout === null) this.set(this.delayMs);
    else this.refreshedAt = performance.now();
  }

  cancel(): void {
    if (this.timeout !== null) clearTimeout(this.timeout);
  }

  private set(delayMs: number): void {
    // Not a closure, to save memory: thousands of timers may be pending.
    this.timeout = setTimeout(fire, Math.min(delayMs, LONGEST_DELAY_MS), this).unref();
  }

  onTimeout(): void {
    const leftMs = this.refreshedAt + this.delayMs - performance.now();
    if (leftMs > 0) {
      this.set(leftMs);
      return;
    }
    this.timeout = null;
    this.callback();
  }
}

function fire(timer: SystemTimer): void {
  timer.onTimeout();
}
