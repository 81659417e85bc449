import {
  carriedTokens,
  type Counted,
  DEBT_MS,
  LIMIT_WINDOW_MS,
  type LookedAt,
  type Standing,
  type Take,
} from '../../state/index.js';
import type { Clock } from '../../time/index.js';

interface Window {
  requests: number;
  tokens: number;
  /** Milliseconds since the epoch. */
  endsAt: number;
}

/** Requests and tokens of a minute by counter, in this process. Windows that have no effect any more are forgotten. */
export class LocalWindows {
  private readonly windows = new Map<string, Window>();
  private sweptAt = 0;

  constructor(private readonly clock: Clock) {}

  /** How many windows are kept. */
  get size(): number {
    return this.windows.size;
  }

  /** Takes requests and tokens if there is room for both; otherwise nothing. */
  take({ key, requests, requestLimit, tokens, tokenLimit }: Take): Omit<Counted, 'places'> {
    const now = this.clock.now();
    const known = this.windows.get(key);
    if (requests === 0 && tokens === 0) return { admitted: true, requests: 0, tokens: 0, resetMs: 0 };
    const window = current(known, tokenLimit, now);
    const admitted =
      (requests === 0 || requestLimit === 0 || window.requests + requests <= requestLimit) &&
      (tokens === 0 || tokenLimit === 0 || window.tokens + tokens <= tokenLimit);
    if (admitted) {
      window.requests += requests;
      window.tokens += tokens;
      if (window !== known) this.begin(key, window, now);
    }
    return { admitted, requests: window.requests, tokens: window.tokens, resetMs: window.endsAt - now };
  }

  /** A counter as it stands. Changes nothing. */
  read({ key, tokenLimit }: LookedAt): Omit<Standing, 'places'> {
    const now = this.clock.now();
    const known = this.windows.get(key);
    const { requests, tokens } = current(known, tokenLimit, now);
    return { requests, tokens, resetMs: Math.max(0, (known?.endsAt ?? 0) - now) };
  }

  /** Adds tokens to a counter, or gives them back if negative. */
  settle(key: string, tokens: number, tokenLimit: number): void {
    const now = this.clock.now();
    const known = this.windows.get(key);
    const window = current(known, tokenLimit, now);
    // Nothing is given back to a window that is over.
    if (window !== known && tokens <= 0) return;
    window.tokens = Math.max(0, window.tokens + tokens);
    if (window !== known) this.begin(key, window, now);
  }

  private begin(key: string, window: Window, now: number): void {
    this.sweep(now);
    window.endsAt = now + LIMIT_WINDOW_MS;
    this.windows.set(key, window);
  }

  private sweep(now: number): void {
    if (now < this.sweptAt + LIMIT_WINDOW_MS) return;
    this.sweptAt = now;
    for (const [key, { endsAt }] of this.windows) if (endsAt + DEBT_MS <= now) this.windows.delete(key);
  }
}

/** The window that lasts, or a new one with what was too much in the one before, as it would begin now. */
function current(known: Window | undefined, tokenLimit: number, now: number): Window {
  if (known === undefined) return { requests: 0, tokens: 0, endsAt: now + LIMIT_WINDOW_MS };
  if (known.endsAt > now) return known;
  const lateMs = now - known.endsAt;
  const tokens = carriedTokens(known.tokens, tokenLimit, lateMs);
  return { requests: 0, tokens, endsAt: now + LIMIT_WINDOW_MS - (lateMs % LIMIT_WINDOW_MS) };
}
