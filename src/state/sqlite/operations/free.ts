import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import { readItems } from '../../stored-response.js';
import { bookmarking } from './bookmarks.js';
import { leaving, MEMBER, type MemberRow } from './leave-sessions.js';

/** A response that is freed. */
interface FreedRow extends MemberRow {
  readonly parent: number | null;
  readonly input: string | null;
  readonly output: string | null;
}

/** Frees responses that are deleted or have expired, and that no response continues. */
export function freeOperations(database: DatabaseSync) {
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
  const freeOne = (response: number, now: number): number | null => {
    // It may have expired since the last sweep.
    bookmarkExpired(response, now);
    const row = free.get(response, now) as unknown as FreedRow | undefined;
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
    free: (responses: readonly number[], now: number, limit: number): readonly number[] => {
      const left = [...responses];
      for (let looked = 0; looked < limit; looked += 1) {
        const next = left.pop();
        if (next === undefined) break;
        const parent = freeOne(next, now);
        if (parent !== null) left.push(parent);
      }
      return left;
    },
  };
}
