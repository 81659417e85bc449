/** A timer that was set on a clock. */
export interface Timer {
  /** Starts the full delay again from now. */
  refresh(): void;
  cancel(): void;
}

/** The only source of time in the service, so that tests can move it by hand. */
export abstract class Clock {
  /** Milliseconds since the Unix epoch. */
  abstract now(): number;

  /** Calls `callback` once after `delayMs`. A pending timer never keeps the process alive. */
  abstract schedule(delayMs: number, callback: () => void): Timer;

  /** Seconds since the Unix epoch, as `created_at` has them. */
  nowInSeconds(): number {
    return Math.floor(this.now() / 1000);
  }

  /** Resolves after `delayMs`, or at once when `signal` aborts; it never rejects. */
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

/** The machine's clock. */
export class SystemClock extends Clock {
  override now(): number {
    return Date.now();
  }

  override schedule(delayMs: number, callback: () => void): Timer {
    const timeout = setTimeout(callback, delayMs).unref();
    return { refresh: () => void timeout.refresh(), cancel: () => clearTimeout(timeout) };
  }
}
