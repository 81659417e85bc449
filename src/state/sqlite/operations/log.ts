import type { DatabaseSync } from 'node:sqlite';

import { LOG_PAGE_LIMITS, LOGS_FORGOTTEN } from '../../event-log.js';
import { toKey } from '../../keys.js';
import type { BatchColumns, BatchRow } from '../../log-columns.js';
import { tenantNumbers } from './tenants.js';
import { lookValues, VISIBLE } from './visible.js';

/** A page of a log. */
export interface StoredPage {
  /** Null: the response never was in the background. */
  readonly is_stream: number | null;
  /** Milliseconds since the epoch; null before the response has ended. */
  readonly log_expires_at: number | null;
  readonly batches: readonly Pick<BatchRow, 'first_event' | 'events'>[];
}

/** The events of background responses. */
export function eventLogOperations(database: DatabaseSync, now: () => number) {
  const tenants = tenantNumbers(database);
  const findOpen = database.prepare(
    `SELECT b.response FROM tenants t JOIN responses r ON r.owner = t.owner JOIN runs b ON b.response = r.response
    WHERE t.key = ? AND r.id = ? AND r.expires_at > 0 AND b.attempt = ? AND b.log_expires_at IS NULL`,
  );
  const insert = database.prepare(
    `INSERT OR IGNORE INTO event_log (response, first_event, first_note, events, notes, has_items)
    VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const begin = database.prepare(
    `UPDATE responses SET status = 'in_progress' WHERE response = ? AND status = 'queued'`,
  );
  const wholeLog = database.prepare(
    'SELECT first_event, events, notes FROM event_log WHERE response = ? ORDER BY first_event, first_note',
  );
  const batchesWithItems = database.prepare(
    `SELECT e.first_event, e.events, e.notes FROM tenants t JOIN responses r ON r.owner = t.owner
      JOIN event_log e ON e.response = r.response
    WHERE t.key = ? AND r.id = ? AND e.has_items = 1 ORDER BY e.first_event, e.first_note`,
  );
  const findVisible = database.prepare(
    `SELECT r.response, b.is_stream, b.log_expires_at FROM responses r LEFT JOIN runs b ON b.response = r.response
    WHERE ${VISIBLE} AND r.id = ?4`,
  );
  const batchesOfPage = database.prepare(
    `SELECT first_event, events FROM event_log
    WHERE response = ?1 AND events <> '' AND first_event >= coalesce((
      SELECT first_event FROM event_log WHERE response = ?1 AND events <> '' AND first_event <= ?2
      ORDER BY first_event DESC LIMIT 1), 0)
    ORDER BY first_event, first_note LIMIT ${LOG_PAGE_LIMITS.batches}`,
  );
  const expired = database.prepare(
    `SELECT response FROM runs WHERE log_expires_at > 0 AND log_expires_at <= ? ORDER BY log_expires_at
    LIMIT ${LOGS_FORGOTTEN.responses}`,
  );
  const remove = database.prepare(
    `DELETE FROM event_log WHERE response = ?1 AND (first_event, first_note) IN (
      SELECT first_event, first_note FROM event_log WHERE response = ?1 LIMIT ?2)`,
  );
  const empty = database.prepare('UPDATE runs SET log_expires_at = 0 WHERE response = ?');

  const insertBatch = (response: number, [firstEvent, firstNote, events, notes, hasItems]: BatchColumns): void => {
    insert.run(response, firstEvent, firstNote, events, notes, hasItems ? 1 : 0);
  };
  return {
    insertBatch,
    /** A whole log. */
    whole: (response: number): readonly BatchRow[] => wholeLog.all(response) as unknown as readonly BatchRow[],

    /** Appends a batch if the attempt is the latest and the response has not ended; with `begins` it leaves the queue. */
    append: (tenant: string, id: string, attempt: number, batch: BatchColumns, begins: boolean): boolean => {
      const run = findOpen.get(toKey(tenant), toKey(id), attempt);
      if (run === undefined) return false;
      const response = Number(run['response']);
      insertBatch(response, batch);
      if (begins) begin.run(response);
      return true;
    },

    /** The batches of a log that say something about finished items. */
    withItems: (tenant: string, id: string): readonly BatchRow[] =>
      batchesWithItems.all(toKey(tenant), toKey(id)) as unknown as readonly BatchRow[],

    /** The batches from the one that contains an event on. */
    page: (tenant: string, id: string, next: number, within?: string): StoredPage | undefined => {
      const found = findVisible.get(...lookValues(tenants, tenant, now(), within), toKey(id)) as
        (Omit<StoredPage, 'batches'> & { readonly response: number }) | undefined;
      if (found === undefined) return undefined;
      const { response, ...state } = found;
      const batches: StoredPage['batches'][number][] = [];
      if (state.is_stream !== 1) return { ...state, batches };
      let bytes = 0;
      for (const row of batchesOfPage.iterate(response, next)) {
        const batch = row as unknown as StoredPage['batches'][number];
        if (bytes >= LOG_PAGE_LIMITS.bytes) break;
        batches.push(batch);
        bytes += batch.events.length;
      }
      return { ...state, batches };
    },

    /** Deletes the events of some responses that ended long ago; whether there are more. */
    forget: (): boolean => {
      const rows = expired.all(now());
      let left: number = LOGS_FORGOTTEN.batches;
      for (const row of rows) {
        const response = Number(row['response']);
        left -= Number(remove.run(response, left).changes);
        if (left === 0) return true;
        empty.run(response);
      }
      return rows.length === LOGS_FORGOTTEN.responses;
    },
  };
}

/** What changes logs together with other rows. */
export type EventLogOperations = ReturnType<typeof eventLogOperations>;
