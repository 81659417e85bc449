import { type Tenant, tenantKey } from '../../access/index.js';
import type { Item, StreamEvent } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { RunLostError } from '../errors.js';
import { begins, EventLog, finishedItems, type LogBatch, type LogPage, type Run, toLogPage } from '../event-log.js';
import { readEvents, readLog, toBatchColumns } from '../log-columns.js';
import type { RunNotices } from '../notices.js';
import type { RunGate } from '../in-process/run-gate.js';
import type { DatabaseThread } from './database-thread.js';

/** The events of background responses in a file. All their readers are in this process. */
export class SqliteEventLog extends EventLog {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly gate: RunGate,
    private readonly notices: RunNotices,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async append({ tenant, responseId, attempt }: Run, batch: LogBatch): Promise<void> {
    const isOurs = await this.gate.pass(tenantKey(tenant, responseId), () =>
      this.thread.call('log.append', tenant, responseId, attempt, toBatchColumns(batch), begins(batch)),
    );
    if (!isOurs) throw new RunLostError(responseId);
    this.announce(responseId, batch.events);
  }

  override async read(
    tenant: Tenant,
    responseId: string,
    after: number,
    within?: string,
  ): Promise<LogPage | undefined> {
    const now = this.clock.now();
    const next = Math.min(after + 1, Number.MAX_SAFE_INTEGER);
    const page = await this.thread.call('log.page', tenant, responseId, next, within);
    if (page === undefined) return undefined;
    const { is_stream: isStream, log_expires_at: expiresAt, batches } = page;
    const hasExpired = (expiresAt ?? Infinity) <= now;
    return toLogPage(batches.flatMap(readEvents), after, {
      isStream: isStream === 1,
      hasEnded: expiresAt !== null,
      hasExpired,
    });
  }

  /** The items that a running response has finished. */
  async finishedItems(tenant: Tenant, responseId: string): Promise<readonly Item[]> {
    const log = await this.thread.call('log.withItems', tenant, responseId);
    return this.thread.decode(() => finishedItems(readLog(log)));
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

  /** Deletes the events of some responses that ended long ago; false when there are no more. */
  forget(): Promise<boolean> {
    return this.thread.call('log.forget');
  }
}
