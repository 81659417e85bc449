import { randomUUID } from 'node:crypto';

import { Injectable, Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import {
  type Change,
  type Counted,
  type Holder,
  inOneLine,
  LIMIT_WINDOW_MS,
  type LookedAt,
  type SharedLimits,
  type Standing,
  StateBackend,
  type Take,
} from '../../state/index.js';
import { andThen, Clock, type MaybePromise, type Timer } from '../../time/index.js';
import { LocalWindows } from './local-windows.js';

/** Tokens are settled together after so long, ms. */
const SETTLE_MS = 250;
/** After a failure of the storage the process counts for itself for so long, ms: turns do not wait for one timeout after another. */
const AWAY_MS = 1000;
/** How often a replica says that it still has its places, ms, and how long they count without that. */
const RENEW_MS = 5000;
const LEASE_MS = 30_000;
/** A refusal for its tokens is remembered for so long, ms: some may be given back meanwhile. One for requests is remembered until its window ends. */
const REFUSED_TOKENS_MS = 250;

/** What a take begins with: nothing, and no limits. */
export const NOTHING = {
  requests: 0,
  requestLimit: 0,
  tokens: 0,
  tokenLimit: 0,
  places: 0,
  placeLimit: 0,
} as const satisfies Omit<Take, 'key'>;

/** What is open in this process by a counter. */
interface Own {
  places: number;
  /** Takes whose answer has not come. */
  asking: number;
  /** Whether something has changed since the last renewal began. */
  hasChanged: boolean;
}

/**
 * The counters of limits by rule and tenant: requests and tokens of a minute, and what is open at once, turns and sockets. For all replicas
 * where the state is shared. While its storage is unavailable, and without one, the process counts for itself: a limiter must not take
 * the service down.
 */
@Injectable()
export class Counters {
  private readonly outages = new OutageLog(new Logger('Limits'));
  private readonly shared: SharedLimits | undefined;
  private readonly holder: Holder = { replica: randomUUID(), leaseMs: LEASE_MS };
  private readonly local: LocalWindows;
  private readonly refusals: Refusals;
  private readonly own = new Map<string, Own>();
  /** Changes that were not sent, by counter. */
  private unsettled = new Map<string, Change>();
  private timer: Timer | null = null;
  private renewal: Timer | null = null;
  /** What is sent now; one after another, so that a later change is not overtaken. */
  private sending: Promise<void> | null = null;
  private awayUntil = 0;
  private isClosed = false;

  constructor(
    backend: StateBackend,
    private readonly clock: Clock,
  ) {
    this.shared = backend.limits;
    this.local = new LocalWindows(clock);
    this.refusals = new Refusals(clock);
  }

  /** Takes requests, tokens and places if there is room for all. No promise unless the state is shared. Never rejects. */
  take(take: Take): MaybePromise<Counted> {
    const { key, places, placeLimit } = take;
    if (places === 0) return this.count(take);
    const open = this.placesOf(key);
    // The places that this process has taken are known without a round trip.
    if (placeLimit > 0 && open + places > placeLimit) {
      return { admitted: false, requests: 0, tokens: 0, places: open, resetMs: 0 };
    }
    const own = this.enter(key, places);
    const toOwn = (counted: Counted): Counted => {
      own.asking -= 1;
      own.hasChanged = true;
      if (!counted.admitted) this.leave(key, places);
      return counted;
    };
    own.asking += 1;
    const counted = this.count(take);
    return andThen(counted, toOwn);
  }

  /** Counters as they stand, in the order in which they are asked for. Never rejects. */
  async read(counters: readonly LookedAt[]): Promise<readonly Standing[]> {
    if (this.shared !== undefined && this.clock.now() >= this.awayUntil) {
      try {
        return await this.shared.read(counters);
      } catch (error) {
        this.goAway(error);
      }
    }
    return counters.map((counter) => ({ ...this.local.read(counter), places: this.placesOf(counter.key) }));
  }

  /** Changes counters: for other replicas at once where a place is given back, otherwise within SETTLE_MS. */
  settle(key: string, { tokens = 0, tokenLimit = 0, places = 0 }: Partial<Change>): void {
    if (places !== 0) this.leave(key, -places);
    if (tokens === 0 && places === 0) return;
    if (this.shared === undefined) {
      this.local.settle(key, tokens, tokenLimit);
      return;
    }
    const sum = this.unsettled.get(key);
    this.unsettled.set(key, {
      tokens: tokens + (sum?.tokens ?? 0),
      tokenLimit: tokens === 0 ? (sum?.tokenLimit ?? 0) : tokenLimit,
      places: places + (sum?.places ?? 0),
    });
    if (places !== 0) this.flush();
    else this.timer ??= this.clock.schedule(SETTLE_MS, () => this.flush());
  }

  /** The places that this process has taken from a counter. */
  placesOf(key: string): number {
    return this.own.get(key)?.places ?? 0;
  }

  /** Sends what is left to settle, and gives all places back: other replicas may have them. Never rejects. */
  async close(): Promise<void> {
    this.isClosed = true;
    this.renewal?.cancel();
    for (const [key, { places }] of this.own) if (places > 0) this.settle(key, { places: -places });
    this.flush();
    while (this.sending !== null) await this.sending;
  }

  private count(take: Take): MaybePromise<Counted> {
    if (this.shared === undefined || this.clock.now() < this.awayUntil) return this.countHere(take);
    return this.refusals.find(take) ?? this.countShared(this.shared, take);
  }

  private async countShared(shared: SharedLimits, take: Take): Promise<Counted> {
    try {
      const counted = await shared.take(take, this.holder);
      if (!counted.admitted) this.refusals.remember(take, counted);
      return counted;
    } catch (error) {
      this.goAway(error);
      return this.countHere(take);
    }
  }

  private countHere(take: Take): Counted {
    return { ...this.local.take(take), places: this.placesOf(take.key) };
  }

  private enter(key: string, places: number): Own {
    let own = this.own.get(key);
    if (own === undefined) this.own.set(key, (own = { places: 0, asking: 0, hasChanged: true }));
    own.places += places;
    if (this.shared !== undefined && !this.isClosed) {
      this.renewal ??= this.clock.schedule(RENEW_MS, () => void this.renew());
    }
    return own;
  }

  private leave(key: string, places: number): void {
    const own = this.own.get(key);
    if (own === undefined) return;
    own.places = Math.max(0, own.places - places);
    own.hasChanged = true;
    if (this.shared === undefined) this.forgetUnused(key, own);
  }

  /** Sends what is to be settled; while something is sent, afterwards, so that changes gather meanwhile. */
  private flush(): void {
    this.timer?.cancel();
    this.timer = null;
    const { shared, unsettled } = this;
    if (shared === undefined || unsettled.size === 0 || this.sending !== null) return;
    this.unsettled = new Map();
    void this.send(() => shared.settle(unsettled, this.holder));
  }

  private send(call: () => Promise<void>): Promise<void> {
    return (this.sending = call()
      .catch((error: unknown) => this.goAway(error))
      .finally(() => {
        this.sending = null;
        this.flush();
      }));
  }

  /**
   * Says that the places are still taken. What the storage has otherwise, after an answer was lost or the lease had ended, is put right
   * where nothing has changed meanwhile.
   */
  private async renew(): Promise<void> {
    this.renewal = null;
    while (this.sending !== null) await this.sending;
    const { shared } = this;
    if (shared === undefined || this.isClosed || this.own.size === 0) return;
    for (const own of this.own.values()) own.hasChanged = own.asking > 0;
    await this.send(async () => this.compare(await shared.renew([...this.own.keys()], this.holder)));
    if (this.own.size > 0) this.renewal ??= this.clock.schedule(RENEW_MS, () => void this.renew());
  }

  private compare(stored: ReadonlyMap<string, number>): void {
    for (const [key, own] of this.own) {
      if (own.hasChanged || own.asking > 0 || this.unsettled.has(key)) continue;
      const missing = own.places - (stored.get(key) ?? 0);
      if (missing !== 0) this.unsettled.set(key, { tokens: 0, tokenLimit: 0, places: missing });
      this.forgetUnused(key, own);
    }
  }

  private forgetUnused(key: string, { places, asking }: Own): void {
    if (places === 0 && asking === 0) this.own.delete(key);
  }

  private goAway(error: unknown): void {
    this.awayUntil = this.clock.now() + AWAY_MS;
    this.outages.warn('limits are counted by each process for itself', inOneLine(error));
  }
}

/** What the shared counters have refused a key. */
interface Refused {
  readonly counted: Counted;
  /** The smallest estimate that was refused for its tokens. */
  readonly tokens: number;
  /** Milliseconds since the epoch. */
  readonly endsAt: number;
  readonly resetAt: number;
}

/** What the shared counters have refused just now, so that clients who try again cost no round trip. */
class Refusals {
  private readonly refusals = new Map<string, Refused>();
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
    const endsAt = isFull ? resetAt : Math.min(resetAt, now + REFUSED_TOKENS_MS);
    this.sweep(now);
    this.refusals.set(key, { counted, tokens: isFull ? Infinity : tokens, endsAt, resetAt });
  }

  private sweep(now: number): void {
    if (now < this.sweptAt + LIMIT_WINDOW_MS) return;
    this.sweptAt = now;
    for (const [key, { endsAt }] of this.refusals) if (endsAt <= now) this.refusals.delete(key);
  }
}
