import { type Counted, LIMIT_WINDOW_MS, type Take } from '../../state/index.js';
import type { Clock } from '../../time/index.js';

/** Tokens may be given back meanwhile: a refusal for them holds for so long, ms. One for requests holds until the window ends. */
const TOKENS_MS = 250;

interface Refusal {
  readonly counted: Counted;
  /** The smallest estimate that was refused for its tokens. */
  readonly tokens: number;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
  readonly resetAt: number;
}

/** What the shared counters have refused just now, so that clients who try again cost no round trip. */
export class Refusals {
  private readonly refusals = new Map<string, Refusal>();
  private sweptAt = 0;

  constructor(private readonly clock: Clock) {}

  /** The refusal that a turn would get again; undefined when the counters have to be asked. */
  find({ key, requests, requestLimit, tokens }: Take): Counted | undefined {
    const refusal = this.refusals.get(key);
    const now = this.clock.now();
    if (refusal === undefined || refusal.endsAt <= now) return undefined;
    // The rule may have changed.
    const isFull = requests > 0 && requestLimit > 0 && refusal.counted.requests >= requestLimit;
    return isFull || tokens >= refusal.tokens ? { ...refusal.counted, resetMs: refusal.resetAt - now } : undefined;
  }

  /** Remembers that a turn was refused for its requests or tokens. A place may be free at any moment. */
  remember({ key, requests, requestLimit, tokens, tokenLimit }: Take, counted: Counted): void {
    const now = this.clock.now();
    const isFull = requests > 0 && requestLimit > 0 && counted.requests >= requestLimit;
    if (!isFull && (tokenLimit === 0 || counted.tokens + tokens <= tokenLimit)) return;
    const resetAt = now + counted.resetMs;
    const endsAt = isFull ? resetAt : Math.min(resetAt, now + TOKENS_MS);
    this.sweep(now);
    this.refusals.set(key, { counted, tokens: isFull ? Infinity : tokens, endsAt, resetAt });
  }

  private sweep(now: number): void {
    if (now < this.sweptAt + LIMIT_WINDOW_MS) return;
    this.sweptAt = now;
    for (const [key, { endsAt }] of this.refusals) if (endsAt <= now) this.refusals.delete(key);
  }
}
