import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import { readItems } from '../../stored-response.js';
import { bookmarking, purging } from './bookmarks.js';
import { leaving, MEMBER, type MemberRow } from './leave-sessions.js';
import { tenantNumbers } from './tenants.js';
import { lookValues, SUBTREE, VISIBLE } from './visible.js';

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
export function deleteOperations(database: DatabaseSync, now: () => number) {
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
    delete: (tenant: string, id: string, cascade: boolean, within?: string): GoneResponses => {
      const values = [...lookValues(tenants, tenant, now(), within), toKey(id), cascade ? 1 : 0];
      const gone = hide.all(...values) as unknown as MemberRow[];
      for (const row of gone) {
        bookmarkDeleted(row.response, now());
        leave(row);
      }
      return { ids: gone.map((row) => row.id), numbers: gone.map(({ response }) => response) };
    },

    /** The next responses that have expired; those that were deleted before are not among the ids. Forgets old bookmarks and claims. */
    sweep: ({ expiresAt, response }: SweepPosition, limit: number): Swept => {
      const time = now();
      const rows = expired.all(time, expiresAt, response, limit) as unknown as MemberRow[];
      for (const row of rows) {
        bookmarkExpired(row.response, time);
        leave(row);
      }
      // Each of them: not `||`.
      const hasMore = [rows.length === limit, purgeBookmarks(time, limit), purgeClaims(time, limit)].includes(true);
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

/** A response that is freed. */
interface FreedRow extends MemberRow {
  readonly parent: number | null;
  readonly input: string | null;
  readonly output: string | null;
}

/** Frees responses that are deleted or have expired, and that no response continues. */
export function freeOperations(database: DatabaseSync, now: () => number) {
  const free = database.prepare(
    `DELETE FROM responses WHERE response = ?1 AND expires_at <= ?2
      AND NOT EXISTS (SELECT 1 FROM responses child WHERE child.parent = ?1)
    RETURNING ${MEMBER}, parent, input, output`,
  );
  const leaveItem = database.prepare('DELETE FROM item_places WHERE owner = ? AND key = ? AND response = ?');
  const leave = leaving(database);
  const { bookmarkExpired } = bookmarking(database);
  const unlabel = database.prepare('DELETE FROM labels WHERE response = ?');
  const endRun = database.prepare('DELETE FROM runs WHERE response = ?');
  const dropLog = database.prepare('DELETE FROM event_log WHERE response = ?');

  /** The number of its parent, which may be free now; null if there is none, or if it is still needed. */
  const freeOne = (response: number): number | null => {
    // It may have expired since the last sweep.
    bookmarkExpired(response, now());
    const row = free.get(response, now()) as unknown as FreedRow | undefined;
    if (row === undefined) return null;
    for (const { id } of [...readItems(row.input), ...readItems(row.output)]) {
      leaveItem.run(row.owner, toKey(id), response);
    }
    leave(row);
    unlabel.run(response);
    if (endRun.run(response).changes > 0) dropLog.run(response);
    return row.parent;
  };

  return {
    /**
     * Frees responses with their ancestors that nothing needs any more, up to a number that is looked at. Returns those
     * that are left to look at.
     */
    free: (responses: readonly number[], limit: number): readonly number[] => {
      const left = [...responses];
      for (let looked = 0; looked < limit; looked += 1) {
        const next = left.pop();
        if (next === undefined) break;
        const parent = freeOne(next);
        if (parent !== null) left.push(parent);
      }
      return left;
    },
  };
}
