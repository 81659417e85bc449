import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import { bookmarking, purging } from './bookmarks.js';
import { leaving, MEMBER, type MemberRow } from './leave-sessions.js';
import { tenantNumbers } from './tenants.js';
import { type Look, lookValues, SUBTREE, VISIBLE } from './visible.js';

/** Responses that are gone: their keys, and their numbers, by which they are freed. */
export interface GoneResponses {
  readonly ids: readonly string[];
  readonly numbers: readonly number[];
}

/** How far a sweep got. */
export interface Swept extends GoneResponses {
  /** The last of them: the next sweep begins behind it; null without any. */
  readonly last: SweepPosition | null;
  /** Whether there may be more to do. */
  readonly hasMore: boolean;
}

/** A place in the order of expiry. */
export interface SweepPosition {
  readonly expiresAt: number;
  readonly response: number;
}

/** Hides responses; they stay until they are freed. */
export function deleteOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const leave = leaving(database);
  const { bookmarkDeleted, bookmarkExpired, purgeBookmarks } = bookmarking(database);
  const purgeClaims = purging(database, 'claims', 'owner, name');
  // By their numbers: not by an index.
  const hide = database.prepare(
    `WITH RECURSIVE ${SUBTREE}
    UPDATE responses AS r NOT INDEXED SET expires_at = 0 WHERE r.response IN (SELECT response FROM subtree) AND ${VISIBLE}
    RETURNING ${MEMBER}`,
  );
  const expired = database.prepare(
    `SELECT ${MEMBER} FROM responses WHERE expires_at <= ?1 AND (expires_at, response) > (?2, ?3)
    ORDER BY expires_at, response LIMIT ?4`,
  );
  return {
    delete: (look: Look, id: string, cascade: boolean): GoneResponses => {
      const values = [...lookValues(tenants, look), toKey(id), cascade ? 1 : 0];
      const gone = hide.all(...values) as unknown as MemberRow[];
      for (const row of gone) {
        bookmarkDeleted(row.response, look.now);
        leave(row);
      }
      return { ids: gone.map((row) => row.id), numbers: gone.map(({ response }) => response) };
    },

    /** The next responses that have expired; those that were deleted before are not among the ids. Forgets old bookmarks and claims. */
    sweep: (now: number, { expiresAt, response }: SweepPosition, limit: number): Swept => {
      const rows = expired.all(now, expiresAt, response, limit) as unknown as MemberRow[];
      for (const row of rows) {
        bookmarkExpired(row.response, now);
        leave(row);
      }
      // Each of them: not `||`.
      const hasMore = [rows.length === limit, purgeBookmarks(now, limit), purgeClaims(now, limit)].includes(true);
      const last = rows.at(-1);
      return {
        ids: rows.filter((row) => row.expires_at > 0).map(({ id }) => id),
        numbers: rows.map((row) => row.response),
        hasMore,
        last: last === undefined ? null : { expiresAt: last.expires_at, response: last.response },
      };
    },
  };
}
