import { type Counted, LIMIT_WINDOW_MS, SharedLimits, sumOfStated, type Take } from '../shared-limits.js';
import type { Database } from './database.js';
import { adHoc, prepared } from './statement.js';

interface CountedRow {
  readonly admitted: boolean;
  readonly requests: string;
  readonly tokens: string;
  readonly reset_ms: number;
}

const NOW = 'clock_timestamp()';
const WINDOW = `${NOW} + ${LIMIT_WINDOW_MS} * interval '1 millisecond'`;
const RESET = `ceil(extract(epoch FROM expires_at - ${NOW}) * 1000)::int AS reset_ms`;

/** Counts only what there is room for; otherwise returns the counters as they are. Time is that of the database. */
const COUNT = prepared<readonly [key: string, tokens: number, requestLimit: number, tokenLimit: number], CountedRow>(
  'count_limits',
  `WITH counted AS (
    INSERT INTO antiphon.limit_counters AS c (key, requests, tokens, expires_at)
    VALUES ($1, 1, $2::bigint, ${WINDOW})
    ON CONFLICT (key) DO UPDATE SET
      requests = CASE WHEN c.expires_at <= ${NOW} THEN 1 ELSE c.requests + 1 END,
      tokens = CASE WHEN c.expires_at <= ${NOW} THEN $2::bigint ELSE c.tokens + $2::bigint END,
      expires_at = CASE WHEN c.expires_at <= ${NOW} THEN excluded.expires_at ELSE c.expires_at END
    WHERE c.expires_at <= ${NOW} OR (
      ($3::bigint = 0 OR c.requests < $3::bigint) AND ($4::bigint = 0 OR c.tokens + $2::bigint <= $4::bigint))
    RETURNING requests, tokens, expires_at)
  SELECT true AS admitted, requests, tokens, ${RESET} FROM counted
  UNION ALL
  SELECT false, requests, tokens, ${RESET} FROM antiphon.limit_counters
  WHERE key = $1 AND NOT EXISTS (SELECT FROM counted)`,
);

/**
 * Changes counters whose window lasts, and begins one for tokens of those that have none. In the order of the keys: replicas that
 * settle at once do not wait for each other crosswise.
 */
const SETTLE = prepared<readonly [keys: readonly string[], tokens: readonly number[]], never>(
  'settle_limits',
  `WITH given AS (SELECT key, tokens FROM unnest($1::text[], $2::bigint[]) AS g (key, tokens)),
  locked AS (
    SELECT c.key FROM antiphon.limit_counters AS c JOIN given USING (key)
    WHERE c.expires_at > ${NOW} ORDER BY c.key FOR UPDATE OF c),
  changed AS (
    UPDATE antiphon.limit_counters AS c SET tokens = greatest(c.tokens + given.tokens, 0)
    FROM locked JOIN given USING (key) WHERE c.key = locked.key RETURNING c.key)
  INSERT INTO antiphon.limit_counters AS c (key, requests, tokens, expires_at)
  SELECT key, 0, tokens, ${WINDOW} FROM given
  WHERE tokens > 0 AND NOT EXISTS (SELECT FROM changed WHERE changed.key = given.key) ORDER BY key
  ON CONFLICT (key) DO UPDATE SET requests = 0, tokens = excluded.tokens, expires_at = excluded.expires_at
  WHERE c.expires_at <= ${NOW}`,
);

/** States what a replica has open, reads what the others have, and removes those that have died. */
const EXCHANGE = prepared<readonly [replica: string, open: string, ttlMs: number], { readonly open: string }>(
  'exchange_limits',
  `WITH stated AS (
    INSERT INTO antiphon.limit_replicas (replica, open, expires_at)
    VALUES ($1, $2, ${NOW} + $3::int * interval '1 millisecond')
    ON CONFLICT (replica) DO UPDATE SET open = excluded.open, expires_at = excluded.expires_at),
  died AS (DELETE FROM antiphon.limit_replicas WHERE expires_at < ${NOW} - interval '1 minute' AND replica <> $1)
  SELECT open FROM antiphon.limit_replicas WHERE replica <> $1 AND expires_at > ${NOW}`,
);

/** Deletes counters whose window is over. */
export const FORGET_LIMITS = adHoc<readonly [], never>(
  `DELETE FROM antiphon.limit_counters WHERE expires_at < ${NOW} - interval '1 minute'`,
);

/** Counters of limits in PostgreSQL, for all replicas. */
export class PostgresLimits extends SharedLimits {
  constructor(private readonly database: Database) {
    super();
  }

  override async count({ key, tokens, requestLimit, tokenLimit }: Take): Promise<Counted> {
    // A row that another replica has inserted meanwhile is not seen: then it is there for the next attempt.
    for (;;) {
      const [row] = await this.database.query(COUNT, [key, tokens, requestLimit, tokenLimit]);
      if (row === undefined) continue;
      const { admitted, requests, reset_ms: resetMs } = row;
      return { admitted, requests: Number(requests), tokens: Number(row.tokens), resetMs: Math.max(0, resetMs) };
    }
  }

  override async settle(tokens: ReadonlyMap<string, number>): Promise<void> {
    await this.database.query(SETTLE, [[...tokens.keys()], [...tokens.values()]]);
  }

  override async exchange(
    replica: string,
    open: ReadonlyMap<string, number>,
    ttlMs: number,
  ): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.query(EXCHANGE, [replica, JSON.stringify(Object.fromEntries(open)), ttlMs]);
    return sumOfStated(rows.map((row) => row.open));
  }
}
