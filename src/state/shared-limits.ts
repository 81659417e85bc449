/** What a turn takes from the counters of its rule, and how much they hold. */
export interface Take {
  /** The counters: those of a rule and a tenant. */
  readonly key: string;
  /** Requests that a window has room for; 0 for no limit. */
  readonly requestLimit: number;
  /** Tokens that a window has room for; 0 for no limit. */
  readonly tokenLimit: number;
  /** The tokens of this turn, as estimated. */
  readonly tokens: number;
}

/** The counters after a turn was counted, or as they stand in its way. */
export interface Counted {
  /** False when there was no room; then nothing was taken. */
  readonly admitted: boolean;
  /** Requests in this window, this one included. */
  readonly requests: number;
  /** Tokens in this window, those of this turn included. */
  readonly tokens: number;
  /** Until the window ends, ms. */
  readonly resetMs: number;
}

/** How long requests and tokens are counted before the counters begin at 0 again, ms. A window begins with its first turn. */
export const LIMIT_WINDOW_MS = 60_000;

/** Counters of limits that all replicas share. Methods throw StoreUnavailableError while the storage is unavailable. */
export abstract class SharedLimits {
  /** Counts one request and its tokens if there is room for both, in one round trip; otherwise takes nothing. */
  abstract count(take: Take): Promise<Counted>;

  /** Adds tokens to counters by their keys, or gives them back if negative; never below 0. */
  abstract settle(tokens: ReadonlyMap<string, number>): Promise<void>;

  /**
   * States what a replica has open by counter, for `ttlMs`, in place of what it stated before; returns the sums of the other replicas.
   * One round trip.
   */
  abstract exchange(
    replica: string,
    open: ReadonlyMap<string, number>,
    ttlMs: number,
  ): Promise<ReadonlyMap<string, number>>;
}

/** Adds up what replicas have stated, as JSON texts of `{key: count}`. */
export function sumOfStated(stated: Iterable<string>): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  for (const text of stated) {
    for (const [key, count] of Object.entries(JSON.parse(text) as Readonly<Record<string, number>>)) {
      sums.set(key, (sums.get(key) ?? 0) + count);
    }
  }
  return sums;
}
