import { type Counted, LIMIT_WINDOW_MS, type Take } from '../state/index.js';
import type { Clock } from '../time/index.js';

interface Window {
  requests: number;
  tokens: number;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
}

/** Requests and tokens of a minute by counter, in this process. Windows that are over are forgotten within two minutes. */
export class LocalWindows {
  private readonly windows = new Map<string, Window>();
  private sweptAt = 0;

  constructor(private readonly clock: Clock) {}

  /** How many windows are kept. */
  get size(): number {
    return this.windows.size;
  }

  /** Counts one request and its tokens if there is room for both; otherwise takes nothing. */
  count({ key, tokens, requestLimit, tokenLimit }: Take): Counted {
    const now = this.clock.now();
    const window = this.at(key, now);
    const admitted =
      (requestLimit === 0 || window.requests < requestLimit) &&
      (tokenLimit === 0 || window.tokens + tokens <= tokenLimit);
    if (admitted) {
      window.requests += 1;
      window.tokens += tokens;
    }
    return { admitted, requests: window.requests, tokens: window.tokens, resetMs: window.endsAt - now };
  }

  /** Adds tokens to a counter, or gives them back if negative. */
  settle(key: string, tokens: number): void {
    const window = this.at(key, this.clock.now());
    window.tokens = Math.max(0, window.tokens + tokens);
  }

  private at(key: string, now: number): Window {
    this.sweep(now);
    let window = this.windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      window = { requests: 0, tokens: 0, endsAt: now + LIMIT_WINDOW_MS };
      this.windows.set(key, window);
    }
    return window;
  }

  private sweep(now: number): void {
    if (now < this.sweptAt + LIMIT_WINDOW_MS) return;
    this.sweptAt = now;
    for (const [key, { endsAt }] of this.windows) if (endsAt <= now) this.windows.delete(key);
  }
}
