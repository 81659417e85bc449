import type { Tenant } from '../../access/index.js';
import { isTerminalEvent, type Item, type StreamEvent } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { RunLostError } from '../errors.js';
import { begins, EventLog, finishedItems, type LogBatch, type LogPage, type Run } from '../event-log.js';
import type { RunGate } from '../in-process/run-gate.js';
import { LogAnnouncer } from '../log-announcer.js';
import type { RunNotices } from '../notices.js';
import { type RedisKeys, withinOf } from './keys.js';
import type { ResponseSlots } from './response-slots.js';
import { batchArgs, eventsOf, type StoredBatch, toLog, whenReleased } from './log-entries.js';
import type { RedisNotices } from './notices.js';
import type { Redis } from './redis.js';
import type { RunIndex } from './run-index.js';
import { APPEND, FORGET_LOG, ITEMS_OF_LOG, type LogAppended, type LogPageReply, READ_LOG } from './scripts/log.js';

/** Logs that are forgotten at once. */
const FORGET_LOGS = 200;
/** The largest number of an event: larger ones are past the end of every log. */
const MAX_EVENT = 2 ** 31 - 1;

/** What the log needs. */
export interface EventLogParts {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly slots: ResponseSlots;
  readonly index: RunIndex;
  readonly runNotices: RunNotices;
  readonly gate: RunGate;
  /** Tells other replicas. */
  readonly notices: Pick<RedisNotices, 'logged'>;
  readonly clock: Clock;
}

/** The events of background responses as streams in Redis, for readers on all replicas. */
export class RedisEventLog extends EventLog {
  private readonly announcer: LogAnnouncer;

  constructor(private readonly parts: EventLogParts) {
    super();
    const { runNotices, notices, clock } = parts;
    this.announcer = new LogAnnouncer(runNotices, (keys) => notices.logged(keys), clock);
  }

  override async append(run: Run, batch: LogBatch): Promise<void> {
    const { tenant, responseId, attempt } = run;
    const { redis, keys, slots, index, gate, clock } = this.parts;
    const located = await slots.locate(tenant, responseId);
    if (located === undefined) throw new RunLostError(responseId);
    const isBeginning = begins(batch);
    const args = [attempt, ...batchArgs(batch), isBeginning ? 1 : 0];
    const write = async (): Promise<LogAppended> => {
      const [reply] = await redis.write(keys.call(located, APPEND, clock.now(), ...args));
      return reply as LogAppended;
    };
    const outcome = await gate.pass(run, () => whenReleased(clock, write));
    if (outcome === 'closed') throw new RunLostError(responseId);
    if (isBeginning) await redis.write(...index.begun(located));
    this.announce(responseId, batch.events);
  }

  override async read(
    tenant: Tenant,
    responseId: string,
    after: number,
    within?: string,
  ): Promise<LogPage | undefined> {
    const { slots, clock } = this.parts;
    const args = [withinOf(within), Math.min(after + 1, MAX_EVENT)];
    const reply = (await slots.ask(tenant, responseId, READ_LOG, ...args)) as LogPageReply | null | undefined;
    if (reply == null) return undefined;
    const [stream, ended, entries] = reply;
    if (stream !== '1') return { missing: 'no stream' };
    if (ended !== null && Number(ended) <= clock.now()) return { missing: 'expired' };
    const events = entries.flatMap(([entry, text]) => eventsOf(entry, text));
    const next = events.filter(({ sequenceNumber }) => sequenceNumber > after);
    return { events: next, isLast: ended !== null && (next.length === 0 || isTerminalEvent(next.at(-1))) };
  }

  /** The items that a running response has finished. */
  async finishedItems(tenant: Tenant, responseId: string): Promise<readonly Item[]> {
    const batches = await this.parts.slots.ask(tenant, responseId, ITEMS_OF_LOG);
    return finishedItems(toLog((batches ?? []) as readonly StoredBatch[]));
  }

  /** Gives stored events to the readers of this process at once, and wakes those of others soon. */
  announce(responseId: string, events: readonly StreamEvent[]): void {
    this.announcer.announce(responseId, events);
  }

  /** Deletes the events of some responses that ended long ago; false when there are no more. */
  async forget(): Promise<boolean> {
    const { redis, keys, index, clock } = this.parts;
    const now = clock.now();
    const entries = await index.toForget(now, FORGET_LOGS);
    await redis.write(...entries.flatMap((entry) => [keys.call(entry, FORGET_LOG, now), index.forgotten(entry)]));
    return entries.length === FORGET_LOGS;
  }
}
