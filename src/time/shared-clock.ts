import { type Clock, SystemClock } from './clock.js';

/** Readings of one look at another clock, of which that with the shortest round trip counts. */
const MOST_READINGS = 5;
/** A round trip that needs no better one, ms. */
const QUICK_MS = 5;

/** Where this process takes its own time from. */
export interface LocalTime {
  /** What the clock of the machine shows, milliseconds since the Unix epoch. It may be set at any time. */
  readonly now: () => number;
  /** Milliseconds since any moment. They only ever grow. */
  readonly elapsed: () => number;
}

/** A reading of another clock. */
interface Reading {
  /** What it showed at the moment zero of `elapsed`, milliseconds since the Unix epoch; wrong by half of the round trip at most. */
  readonly zero: number;
  /** The round trip. */
  readonly tookMs: number;
}

/**
 * The time for what goes by the clock of the system unless replicas share one: a clock of a program's own, such as that of a test,
 * does not rule it.
 */
export function sharedTimeOf(clock: Clock): () => number {
  return clock instanceof SharedClock ? () => clock.now() : () => Date.now();
}

const SYSTEM: LocalTime = { now: () => Date.now(), elapsed: () => performance.now() };

/**
 * The clock of the service: that of the system until it follows another one, such as that of the database that replicas share. From then
 * on it shows the time of the other one, and what somebody does to the clock of the machine changes nothing. Once it follows, it never
 * goes back: where it is ahead of the other one it goes at half the pace until they agree. Timers are those of the system.
 */
export class SharedClock extends SystemClock {
  private followed: { readonly zero: number; readonly aheadMs: number; readonly since: number } | undefined;
  private offset: number | undefined;

  constructor(private readonly local: LocalTime = SYSTEM) {
    super();
  }

  /** By how much the clock that it follows was ahead of that of the machine at the last look, ms; undefined when it follows none. */
  get offsetMs(): number | undefined {
    return this.offset;
  }

  override now(): number {
    return this.followed === undefined ? this.local.now() : Math.floor(this.at(this.local.elapsed()));
  }

  /**
   * Looks at another clock, which `read` gives in milliseconds since the Unix epoch, and follows it from now on. Asks it up to five times,
   * until an answer is quick. Throws what `read` throws.
   */
  async follow(read: () => Promise<number>): Promise<void> {
    let best: Reading | undefined;
    for (let count = 0; count < MOST_READINGS && (best === undefined || best.tookMs > QUICK_MS); count += 1) {
      const sentAt = this.local.elapsed();
      const time = await read();
      const tookMs = this.local.elapsed() - sentAt;
      if (best === undefined || tookMs < best.tookMs) best = { zero: time - sentAt - tookMs / 2, tookMs };
    }
    if (best !== undefined) this.correct(best);
  }

  private correct({ zero, tookMs }: Reading): void {
    const since = this.local.elapsed();
    this.offset = zero + since - this.local.now();
    // At first it may go back: nothing is stored yet.
    const aheadMs = this.followed === undefined ? 0 : this.at(since) - (zero + since);
    // Nearer than the reading is exact.
    if (this.followed !== undefined && Math.abs(aheadMs) <= tookMs / 2) return;
    this.followed = { zero, aheadMs: Math.max(0, aheadMs), since };
  }

  private at(elapsed: number): number {
    if (this.followed === undefined) return this.local.now();
    const { zero, aheadMs, since } = this.followed;
    return zero + elapsed + Math.max(0, aheadMs - (elapsed - since) / 2);
  }
}
