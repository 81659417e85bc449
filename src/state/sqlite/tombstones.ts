import type { DatabaseSync } from 'node:sqlite';

import type { OutageLog } from '../../logging/index.js';
import { DamagedRecordError } from '../errors.js';
import { toKey } from '../keys.js';
import type { DeletionNotices } from '../notices.js';
import { readItems } from '../stored-response.js';
import type { ThreadGroup } from './executed.js';
import { bookmarking, purging } from './statements/bookmarks.js';
import { leaving, MEMBER, type MemberRow } from './statements/leave-sessions.js';

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

/** A response that is freed. */
interface FreedRow extends MemberRow {
  readonly parent: number | null;
  readonly input: string | null;
  readonly output: string | null;
}

/** Frees responses that are deleted or have expired, and that no response continues. */
export function sqliteTombstones(database: DatabaseSync, now: () => number) {
  const free = database.prepare(
    `DELETE FROM responses WHERE response = ?1 AND expires_at <= ?2
      AND NOT EXISTS (SELECT 1 FROM responses child WHERE child.parent = ?1)
    RETURNING ${MEMBER}, parent, input, output`,
  );
  const leaveItem = database.prepare('DELETE FROM item_places WHERE owner = ? AND key = ? AND response = ?');
  const leaveAllItems = database.prepare('DELETE FROM item_places WHERE owner = ? AND response = ?');
  const leave = leaving(database);
  const { bookmarkExpired, purgeBookmarks } = bookmarking(database);
  const purgeClaims = purging(database, 'claims', 'owner, name');
  const expired = database.prepare(
    `SELECT ${MEMBER} FROM responses WHERE expires_at <= ?1 AND (expires_at, response) > (?2, ?3)
    ORDER BY expires_at, response LIMIT ?4`,
  );
  const unlabel = database.prepare('DELETE FROM labels WHERE response = ?');
  const endRun = database.prepare('DELETE FROM runs WHERE response = ?');
  const dropLog = database.prepare('DELETE FROM event_log WHERE response = ?');

  const leaveItems = (response: number, { owner, input, output }: FreedRow): void => {
    const record = 'the list of items of a response';
    try {
      for (const { id } of [...readItems(input, record), ...readItems(output, record)]) {
        leaveItem.run(owner, toKey(id), response);
      }
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
      // All of the owner are looked at: no index has them by their response.
      leaveAllItems.run(owner, response);
    }
  };

  /** The number of its parent, which may be free now; null if there is none, or if it is still needed. */
  const freeOne = (response: number): number | null => {
    // The response may have expired since the last sweep.
    bookmarkExpired(response, now());
    const row = free.get(response, now()) as unknown as FreedRow | undefined;
    if (row === undefined) return null;
    leaveItems(response, row);
    leave(row);
    unlabel.run(response);
    if (endRun.run(response).changes > 0) dropLog.run(response);
    return row.parent;
  };

  return {
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

/** Most responses of one call: others are answered in between. */
const BATCH = 1000;

const BEGINNING: SweepPosition = { expiresAt: -1, response: 0 };

/** Sweeps after which the position is reset, for what could not be freed when it was deleted. */
const SWEEPS_IN_A_ROUND = 60;

/** Frees invisible responses as soon as no response continues them. */
export class SqliteTombstones {
  private position = BEGINNING;
  private sweeps = 0;

  constructor(
    private readonly thread: ThreadGroup<ReturnType<typeof sqliteTombstones>>,
    private readonly notices: DeletionNotices,
    private readonly outages: OutageLog,
  ) {}

  /**
   * Reports deleted responses, or those that are `changed`, and frees the deleted ones; a sweep frees the rest. Resolves
   * when up to one batch is freed; larger deletions continue in the background. Never rejects.
   */
  async bury({ ids, numbers }: GoneResponses, changed = ids): Promise<void> {
    this.notices.announce(changed);
    const freeing = this.free(numbers).catch((error: unknown) => {
      this.outages.warn('deleted responses will be freed later', String(error));
    });
    if (numbers.length <= BATCH) await freeing;
  }

  /** Frees the next batch of expired responses; false when there are no more. Throws StoreUnavailableError. */
  async sweep(): Promise<boolean> {
    const { ids, numbers, last, hasMore } = await this.thread.call('sweep', this.position, BATCH);
    // Set first: an error must not block the following ones.
    this.position = last ?? this.position;
    this.notices.announce(ids);
    await this.free(numbers);
    if (hasMore) return true;
    this.sweeps += 1;
    if (this.sweeps % SWEEPS_IN_A_ROUND === 0) this.position = BEGINNING;
    return false;
  }

  private async free(numbers: readonly number[]): Promise<void> {
    let left = numbers;
    while (left.length > 0) left = await this.thread.call('free', left, BATCH);
  }
}
