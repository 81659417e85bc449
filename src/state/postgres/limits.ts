import {
  type Change,
  type Counted,
  DEBT_MS,
  type Holder,
  LIMIT_WINDOW_MS,
  type LookedAt,
  SharedLimits,
  type Standing,
  type Take,
} from '../shared-limits.js';
import { adHoc, prepared } from '../sql/statement.js';
import type { Database } from './database.js';

interface CountedRow {
  readonly admitted: boolean;
  readonly requests: string;
  readonly tokens: string;
  readonly places: string;
  readonly reset_ms: number;
}

type TakeValues = readonly [
  key: string,
  requests: number,
  requestLimit: number,
  tokens: number,
  tokenLimit: number,
  places: number,
  placeLimit: number,
  replica: string,
  leaseMs: number,
];

/** Time is that of the database. */
const NOW = 'clock_timestamp()';
const NOW_MS = `(extract(epoch FROM ${NOW}) * 1000)::bigint`;
const WINDOW = `${LIMIT_WINDOW_MS} * interval '1 millisecond'`;

/** Whether the window of a counter `c` is over, and how many windows ago it began, one or more. */
const IS_OVER = `c.expires_at <= ${NOW}`;
const LATE_MS = `extract(epoch FROM ${NOW} - c.expires_at) * 1000`;
const WINDOWS = `(1 + floor(${LATE_MS} / ${LIMIT_WINDOW_MS}))::bigint`;
/** As `carriedTokens`. */
const carried = (limit: string): string =>
  `CASE WHEN ${limit} = 0 OR ${LATE_MS} >= ${DEBT_MS} THEN 0 ELSE greatest(0, c.tokens - ${limit} * ${WINDOWS}) END`;
/** The places after a replica has taken some more. */
const withPlaces = (of: string, replica: string, more: string, leaseMs: string): string =>
  `antiphon.limit_places(${of}, ${replica}, ${more}, ${NOW_MS} + ${leaseMs}, ${NOW_MS})`;

/** What has been counted in the window that lasts, or that would begin. */
const REQUESTS = `CASE WHEN ${IS_OVER} THEN 0 ELSE c.requests END`;
const TOKENS = `CASE WHEN ${IS_OVER} THEN ${carried('$5::bigint')} ELSE c.tokens END`;
const PLACES = withPlaces('c.places', '$8', '$6::int', '$9::int');
/** A place alone begins no window. */
const COUNTS = '($2::int > 0 OR $4::bigint > 0)';

/** Takes only what there is room for; otherwise returns the counters as they are. */
const TAKE = prepared<TakeValues, CountedRow>(
  'take_limits',
  `WITH taken AS (
    INSERT INTO antiphon.limit_counters AS c (key, requests, tokens, places, expires_at)
    VALUES ($1, $2::int, $4::bigint, ${withPlaces(`'{}'::jsonb`, '$8', '$6::int', '$9::int')},
      CASE WHEN ${COUNTS} THEN ${NOW} + ${WINDOW} ELSE ${NOW} END)
    ON CONFLICT (key) DO UPDATE SET
      requests = CASE WHEN ${COUNTS} THEN ${REQUESTS} + $2::int ELSE c.requests END,
      tokens = CASE WHEN ${COUNTS} THEN ${TOKENS} + $4::bigint ELSE c.tokens END,
      places = CASE WHEN $6::int = 0 THEN c.places ELSE ${PLACES} END,
      expires_at = CASE WHEN ${COUNTS} AND ${IS_OVER} THEN ${NOW} + ${WINDOW} ELSE c.expires_at END
    WHERE ($2::int = 0 OR $3::bigint = 0 OR ${REQUESTS} + $2::int <= $3::bigint)
      AND ($4::bigint = 0 OR $5::bigint = 0 OR ${TOKENS} + $4::bigint <= $5::bigint)
      AND ($6::int = 0 OR $7::bigint = 0 OR antiphon.limit_places_taken(${PLACES}) <= $7::bigint)
    RETURNING true AS admitted, c.requests, c.tokens, antiphon.limit_places_taken(c.places) AS places,
      ceil(extract(epoch FROM c.expires_at - ${NOW}) * 1000)::int AS reset_ms)
  SELECT * FROM taken
  UNION ALL
  SELECT false, ${REQUESTS}, ${TOKENS},
    antiphon.limit_places_taken(${withPlaces('c.places', '$8', '0', '$9::int')}),
    ceil(CASE WHEN ${IS_OVER} THEN ${WINDOWS} * ${LIMIT_WINDOW_MS} ELSE 0 END - ${LATE_MS})::int
  FROM antiphon.limit_counters AS c WHERE c.key = $1 AND NOT EXISTS (SELECT FROM taken)`,
);

/** The counters as they stand, of each key in its place. */
const READ = prepared<readonly [keys: readonly string[], tokenLimits: readonly number[]], Omit<CountedRow, 'admitted'>>(
  'read_limits',
  `SELECT coalesce(${REQUESTS}, 0) AS requests,
    coalesce(CASE WHEN ${IS_OVER} THEN ${carried('g.token_limit')} ELSE c.tokens END, 0) AS tokens,
    coalesce(antiphon.limit_places_taken(${withPlaces('c.places', `''`, '0', '0')}), 0) AS places,
    coalesce(ceil(-(${LATE_MS})), 0)::int AS reset_ms
  FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS g (key, token_limit, place)
  LEFT JOIN antiphon.limit_counters AS c USING (key) ORDER BY place`,
);

/**
 * Changes counters, and begins a window for tokens of those that have none. In the order of the keys: replicas that
 * settle at once do not wait for each other crosswise.
 */
const SETTLE = prepared<
  readonly [
    keys: readonly string[],
    tokens: readonly number[],
    tokenLimits: readonly number[],
    places: readonly number[],
    replica: string,
    leaseMs: number,
  ],
  never
>(
  'settle_limits',
  `WITH given AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::int[]) AS g (key, tokens, token_limit, places)),
  locked AS (SELECT c.key FROM antiphon.limit_counters AS c JOIN given USING (key) ORDER BY c.key FOR UPDATE OF c),
  changed AS (
    UPDATE antiphon.limit_counters AS c SET
      requests = CASE WHEN ${IS_OVER} AND g.tokens > 0 THEN 0 ELSE c.requests END,
      tokens = CASE WHEN ${IS_OVER} AND g.tokens > 0 THEN ${carried('g.token_limit')} + g.tokens
        WHEN ${IS_OVER} THEN c.tokens ELSE greatest(c.tokens + g.tokens, 0) END,
      places = CASE WHEN g.places = 0 THEN c.places ELSE ${withPlaces('c.places', '$5', 'g.places', '$6::int')} END,
      expires_at = CASE WHEN ${IS_OVER} AND g.tokens > 0 THEN ${NOW} + ${WINDOW} ELSE c.expires_at END
    FROM locked JOIN given AS g USING (key) WHERE c.key = locked.key RETURNING c.key)
  INSERT INTO antiphon.limit_counters AS c (key, requests, tokens, places, expires_at)
  SELECT key, 0, greatest(tokens, 0), ${withPlaces(`'{}'::jsonb`, '$5', 'places', '$6::int')},
    CASE WHEN tokens > 0 THEN ${NOW} + ${WINDOW} ELSE ${NOW} END
  FROM given
  WHERE (tokens > 0 OR places > 0) AND NOT EXISTS (SELECT FROM changed WHERE changed.key = given.key) ORDER BY key
  ON CONFLICT (key) DO UPDATE SET tokens = c.tokens + excluded.tokens, places = c.places || excluded.places`,
);

/** Extends the places of a replica that still count. In the order of the keys, too. */
const RENEW = prepared<
  readonly [keys: readonly string[], replica: string, leaseMs: number],
  { readonly key: string; readonly places: number }
>(
  'renew_limits',
  `WITH locked AS (
    SELECT c.key FROM antiphon.limit_counters AS c WHERE c.key = ANY ($1::text[]) AND c.places ? $2 ORDER BY c.key FOR UPDATE)
  UPDATE antiphon.limit_counters AS c SET places = ${withPlaces('c.places', '$2', '0', '$3::int')}
  FROM locked WHERE c.key = locked.key RETURNING c.key, coalesce((c.places -> $2 ->> 0)::int, 0) AS places`,
);

/** Deletes counters whose last window has no effect any more, unless something is open. */
export const FORGET_LIMITS = adHoc<readonly [], never>(
  `DELETE FROM antiphon.limit_counters AS c WHERE ${LATE_MS} >= ${DEBT_MS}
    AND antiphon.limit_places_taken(${withPlaces('c.places', `''`, '0', '0')}) = 0`,
);

/** Counters of limits in PostgreSQL, for all replicas. */
export class PostgresLimits extends SharedLimits {
  constructor(private readonly database: Database) {
    super();
  }

  override async take(take: Take, { replica, leaseMs }: Holder): Promise<Counted> {
    const { key, requests, requestLimit, tokens, tokenLimit, places, placeLimit } = take;
    const values = [key, requests, requestLimit, tokens, tokenLimit, places, placeLimit, replica, leaseMs] as const;
    // A row that another replica has inserted meanwhile is not seen: then it is there for the next attempt.
    for (;;) {
      const [row] = await this.database.query(TAKE, values);
      if (row !== undefined) return { admitted: row.admitted, ...toStanding(row) };
    }
  }

  override async read(counters: readonly LookedAt[]): Promise<readonly Standing[]> {
    const rows = await this.database.query(READ, [
      counters.map(({ key }) => key),
      counters.map(({ tokenLimit }) => tokenLimit),
    ]);
    return rows.map(toStanding);
  }

  override async settle(changes: ReadonlyMap<string, Change>, { replica, leaseMs }: Holder): Promise<void> {
    const all = [...changes.values()];
    await this.database.query(SETTLE, [
      [...changes.keys()],
      all.map(({ tokens }) => tokens),
      all.map(({ tokenLimit }) => tokenLimit),
      all.map(({ places }) => places),
      replica,
      leaseMs,
    ]);
  }

  override async renew(keys: readonly string[], { replica, leaseMs }: Holder): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query(RENEW, [keys, replica, leaseMs]);
    return new Map(rows.map(({ key, places }) => [key, places]));
  }
}

function toStanding({ requests, tokens, places, reset_ms: resetMs }: Omit<CountedRow, 'admitted'>): Standing {
  return {
    requests: Number(requests),
    tokens: Number(tokens),
    places: Number(places),
    resetMs: Math.max(0, resetMs),
  };
}
