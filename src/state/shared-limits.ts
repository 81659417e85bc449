/** What a turn takes from the counters of its rule, and how much they hold. Of limits, 0 is none. */
export interface Take {
  /** The counters: those of a rule and a tenant. */
  readonly key: string;
  readonly requests: number;
  readonly requestLimit: number;
  /** The tokens that the turn reserves. */
  readonly tokens: number;
  readonly tokenLimit: number;
  /** Places of what is open at once: a turn or a socket. */
  readonly places: number;
  readonly placeLimit: number;
}

/** The counters after a turn was counted, or as they stand in its way. */
export interface Counted {
  /** False when there was no room; then nothing was taken. */
  readonly admitted: boolean;
  /** Requests in this window, this one included. */
  readonly requests: number;
  /** Tokens in this window, those of this turn and what was too much in earlier windows included. */
  readonly tokens: number;
  /** Places that are taken, by all replicas. */
  readonly places: number;
  /** Until the window ends, ms. */
  readonly resetMs: number;
}

/** Counters that are looked at, and the limit of their tokens, for what a window carries: see `carriedTokens`. */
export interface LookedAt {
  readonly key: string;
  readonly tokenLimit: number;
}

/** The counters as they stand; all 0 where nothing was counted, or its window is over and nothing is carried. */
export type Standing = Omit<Counted, 'admitted'>;

/** What changes in counters beside a `take`; negative for what is given back. */
export interface Change {
  readonly tokens: number;
  /** The limit of the tokens, for what begins a window: see `carriedTokens`. */
  readonly tokenLimit: number;
  readonly places: number;
}

/** A replica that takes places, and how long they count without a sign of it, ms. */
export interface Holder {
  readonly replica: string;
  readonly leaseMs: number;
}

/** How long requests and tokens are counted before the counters begin again, ms. A window begins with its first turn. */
export const LIMIT_WINDOW_MS = 60_000;

/** How long it is remembered that a window had too many tokens, ms. */
export const DEBT_MS = 60 * LIMIT_WINDOW_MS;

/**
 * The tokens with which a window begins: what the one before had beyond its limit, less the limits of windows in which nothing was
 * used. `lateMs` is the time since that one ended.
 */
export function carriedTokens(tokens: number, tokenLimit: number, lateMs: number): number {
  if (tokenLimit === 0 || lateMs >= DEBT_MS) return 0;
  return Math.max(0, tokens - tokenLimit * (1 + Math.floor(lateMs / LIMIT_WINDOW_MS)));
}

/**
 * Counters of limits that all replicas share, by their keys. Requests and tokens belong to a window; places belong to the replica that
 * has taken them, until it gives them back or its lease ends. Methods throw StoreUnavailableError while the storage is unavailable.
 */
export abstract class SharedLimits {
  /** Takes requests, tokens and places if there is room for all of them, in one round trip; otherwise nothing. */
  abstract take(take: Take, holder: Holder): Promise<Counted>;

  /** The counters as they stand, in the order in which they are asked for. Changes nothing. */
  abstract read(counters: readonly LookedAt[]): Promise<readonly Standing[]>;

  /** Changes counters. Tokens never fall below 0, and change only in a window that lasts; those that were used, though, begin one. */
  abstract settle(changes: ReadonlyMap<string, Change>, holder: Holder): Promise<void>;

  /** Extends the lease of the replica's places; returns how many it has by each of these counters. */
  abstract renew(keys: readonly string[], holder: Holder): Promise<ReadonlyMap<string, number>>;
}
