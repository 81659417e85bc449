import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import type { Item, StreamEvent } from '../../protocol/index.js';
import { RunLostError } from '../errors.js';
import {
  begins,
  EventLog,
  finishedItems,
  LOG_PAGE_LIMITS,
  type LogBatch,
  LOGS_FORGOTTEN,
  type Run,
  toLogPage,
} from '../event-log.js';
import type { RunGate } from '../in-process/run-gate.js';
import { toKey } from '../keys.js';
import { type BatchColumns, type BatchRow, readEvents, readLog, toBatchColumns } from '../log-columns.js';
import type { RunNotices } from '../notices.js';
import { logRecord } from '../stored-response.js';
import type { ThreadGroup } from './executed.js';
import { lookValues, tenantNumbers, VISIBLE } from './statements/visible.js';

/** A page of a log. */
export interface StoredPage {
  /** False also when the response never was in the background. */
  readonly isStream: boolean;
  readonly hasEnded: boolean;
  readonly hasExpired: boolean;
  readonly batches: readonly Pick<BatchRow, 'first_event' | 'events'>[];
}

/** The events of background responses in SQLite. */
export function sqliteLog(database: DatabaseSync, now: () => number) {
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
    /** Appends a batch if the attempt is the latest and the response has not ended; with `begins` it leaves the queue. */
    append: (tenant: string, id: string, attempt: number, batch: BatchColumns, begins: boolean): boolean => {
      const run = findOpen.get(toKey(tenant), toKey(id), attempt);
      if (run === undefined) return false;
      const response = Number(run['response']);
      insertBatch(response, batch);
      if (begins) begin.run(response);
      return true;
    },

    /** From the batch on that contains an event. */
    read: (tenant: string, id: string, after: number, within?: string): StoredPage | undefined => {
      const found = findVisible.get(...lookValues(tenants, tenant, now(), within), toKey(id));
      if (found === undefined) return undefined;
      const expiresAt = found['log_expires_at'] as number | null;
      const state = {
        isStream: found['is_stream'] === 1,
        hasEnded: expiresAt !== null,
        hasExpired: expiresAt !== null && expiresAt <= now(),
      };
      const batches: StoredPage['batches'][number][] = [];
      if (!state.isStream) return { ...state, batches };
      let bytes = 0;
      const next = Math.min(after + 1, Number.MAX_SAFE_INTEGER);
      for (const row of batchesOfPage.iterate(Number(found['response']), next)) {
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

    insertBatch,

    whole: (response: number) => wholeLog.all(response) as unknown as readonly BatchRow[],

    /** The items that a running response has finished. */
    finishedItems: (tenant: string, id: string): readonly Item[] =>
      finishedItems(
        readLog(batchesWithItems.all(toKey(tenant), toKey(id)) as unknown as readonly BatchRow[], id),
        logRecord(id),
      ),
  };
}

/** The log of a database. */
export type SqliteLog = ReturnType<typeof sqliteLog>;

/** The events of background responses in a file. All their readers are in this process. */
export class SqliteEventLog extends EventLog {
  constructor(
    private readonly thread: ThreadGroup<SqliteLog>,
    private readonly gate: RunGate,
    private readonly notices: RunNotices,
  ) {
    super();
  }

  override async append(run: Run, batch: LogBatch): Promise<void> {
    const { tenant, responseId, attempt } = run;
    const isOurs = await this.gate.pass(run, () =>
      this.thread.call('append', tenant, responseId, attempt, toBatchColumns(batch), begins(batch)),
    );
    if (!isOurs) throw new RunLostError(responseId);
    this.announce(responseId, batch.events);
  }

  override async read(tenant: Tenant, responseId: string, after: number, within?: string) {
    const page = await this.thread.call('read', tenant, responseId, after, within);
    return page && toLogPage(page.batches.flatMap(readEvents), after, page);
  }

  /** Deletes the events of some responses that ended long ago; false when there are no more. */
  forget(): Promise<boolean> {
    return this.thread.call('forget');
  }

  /** Gives stored events to the readers. */
  announce(responseId: string, events: readonly StreamEvent[]): void {
    if (events.length > 0) this.notices.announceLogged([responseId], events);
  }

  /** A response was ended from outside of its run. */
  announceEnd(responseId: string, events: readonly StreamEvent[]): void {
    this.notices.announceEnded([responseId]);
    this.announce(responseId, events);
  }
}
