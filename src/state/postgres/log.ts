import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import type { Item, StreamEvent } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { RunLostError } from '../errors.js';
import { begins, EventLog, finishedItems, type LogBatch, LOGS_FORGOTTEN, type Run, toLogPage } from '../event-log.js';
import type { RunNotices } from '../notices.js';
import { LogAnnouncer } from '../log-announcer.js';
import { toKey } from '../keys.js';
import { logRecord } from '../stored-response.js';
import { readEvents, readLog, toBatchColumns } from '../log-columns.js';
import type { Database } from './database.js';
import { APPEND, FORGET_LOGS, ITEMS_OF_LOG, LOG_PAGE, NOTIFY_LOGGED } from './statements/runs.js';
import { viewerOf } from './statements/visible.js';

/** Responses per notice, which is limited to 8000 bytes. */
const NOTICE_RESPONSES = 20;

/** The largest number of an event that a column holds. */
const MAX_EVENT = 2 ** 31 - 1;

/** The events of background responses in PostgreSQL, for readers on all replicas. */
export class PostgresEventLog extends EventLog {
  private readonly announcer: LogAnnouncer;
  /** Of this process: it knows of its own events already. */
  private readonly processId = randomUUID();

  constructor(
    private readonly database: Database,
    private readonly notices: RunNotices,
    private readonly clock: Clock,
  ) {
    super();
    this.announcer = new LogAnnouncer(notices, (keys) => this.publish(keys), clock);
  }

  override async append({ tenant, responseId, attempt }: Run, batch: LogBatch): Promise<void> {
    const [row] = await this.database.repeatable(APPEND, [
      toKey(tenant),
      toKey(responseId),
      new Date(this.clock.now()),
      attempt,
      ...toBatchColumns(batch),
      begins(batch),
    ]);
    if (row?.is_ours !== true) throw new RunLostError(responseId);
    this.announce(responseId, batch.events);
  }

  override async read(tenant: Tenant, responseId: string, after: number, within?: string) {
    const viewer = viewerOf(tenant, this.clock, within);
    const rows = await this.database.repeatable(LOG_PAGE, [
      ...viewer,
      toKey(responseId),
      Math.min(after + 1, MAX_EVENT),
    ]);
    const [first] = rows;
    if (first === undefined) return undefined;
    const events = rows.flatMap(({ first_event, events: text }) =>
      first_event === null || text === null ? [] : readEvents({ first_event, events: text }),
    );
    const { is_stream: isStream, has_ended: hasEnded, has_expired: hasExpired } = first;
    return toLogPage(events, after, { isStream: isStream === true, hasEnded, hasExpired });
  }

  /** The items that a running response has finished. */
  async finishedItems(tenant: Tenant, responseId: string): Promise<readonly Item[]> {
    const batches = await this.database.repeatable(ITEMS_OF_LOG, [toKey(tenant), toKey(responseId)]);
    return finishedItems(readLog(batches, responseId), logRecord(responseId));
  }

  /** Gives stored events to the readers of this process at once, and wakes those of others soon. */
  announce(responseId: string, events: readonly StreamEvent[]): void {
    this.announcer.announce(responseId, events);
  }

  /** A response was ended from outside of its run; other replicas are notified by the statement that ended it. */
  announceEnd(responseId: string, events: readonly StreamEvent[]): void {
    this.notices.announceEnded([responseId]);
    this.announce(responseId, events);
  }

  /** The notice of a process: events were added to logs. */
  receive(notice: string): void {
    const [processId, ...ids] = notice.split(' ');
    if (processId !== this.processId) this.notices.announceLogged(ids);
  }

  /** Deletes the events of some responses that ended long ago; false when there are no more. */
  async forget(): Promise<boolean> {
    const now = new Date(this.clock.now());
    const [row] = await this.database.query(FORGET_LOGS, [now, LOGS_FORGOTTEN.responses, LOGS_FORGOTTEN.batches]);
    return row?.has_more === true;
  }

  private publish(keys: readonly string[]): Promise<unknown> {
    const payloads: string[] = [];
    for (let from = 0; from < keys.length; from += NOTICE_RESPONSES) {
      payloads.push([this.processId, ...keys.slice(from, from + NOTICE_RESPONSES)].join(' '));
    }
    return this.database.query(NOTIFY_LOGGED, [payloads]);
  }
}
