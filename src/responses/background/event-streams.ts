import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError, isTerminalEvent, type StreamEvent } from '../../protocol/index.js';
import { EventLog, inOneLine, type LogPage, RunNotices, StoreUnavailableError } from '../../state/index.js';
import { Clock, type Timer } from '../../time/index.js';

/** The cursor before the first event. */
export const BEFORE_ALL = -1;

/** How often readers look for events whose notice was lost, ms. */
const POLL_MS = 1000;

/** Events of a log. */
type LogEvents = Exclude<LogPage, { missing: unknown }>;

const NOTHING: LogEvents = { events: [], isLast: false };

/** The events that follow are stored no longer: the stream cannot come to its end. */
export class StreamGoneError extends Error {
  override readonly name = 'StreamGoneError';
}

/** Reads the events of background responses on any replica: what is logged, then what is added (protocol §1.1). */
@Injectable()
export class EventStreams implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger('EventStreams'));
  private readonly followed = new Map<string, FollowedLog>();
  private unsubscribe: () => void = () => undefined;

  constructor(
    private readonly log: EventLog,
    private readonly notices: RunNotices,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  onApplicationBootstrap(): void {
    this.unsubscribe = this.notices.subscribe({
      logged: (ids, events) => {
        for (const id of ids) this.followed.get(id)?.change(events);
      },
      resumed: () => {
        for (const followed of this.followed.values()) followed.change();
      },
    });
  }

  onApplicationShutdown(): void {
    this.unsubscribe();
    for (const followed of this.followed.values()) followed.close();
  }

  /**
   * The events of a response after a number. Throws ApiError 404, and 400 `invalid_mode` for a response without a
   * stream, or whose events are no longer stored.
   */
  async open(tenant: Tenant, responseId: string, after: number, within?: string): Promise<LogReader> {
    const page = this.requireStream(await this.log.read(tenant, responseId, after, within), responseId);
    return this.follow(tenant, responseId, after, page, within);
  }

  /** The events of a response that was just created, from the first one on. */
  openNew(tenant: Tenant, responseId: string): LogReader {
    return this.follow(tenant, responseId, BEFORE_ALL, null);
  }

  private follow(
    tenant: Tenant,
    responseId: string,
    after: number,
    page: LogEvents | null,
    within?: string,
  ): LogReader {
    const followed = this.join(responseId);
    const read = async (last: number): Promise<LogEvents | null> => {
      const place = JSON.stringify([tenant, within, last]);
      try {
        const next = await followed.read(place, () => this.log.read(tenant, responseId, last, within));
        if (next === undefined || 'missing' in next) throw new StreamGoneError();
        return next;
      } catch (error) {
        if (!(error instanceof StoreUnavailableError)) throw error;
        this.outages.warn(`the stream of ${responseId} waits for the store`, inOneLine(error));
        return null;
      }
    };
    return new LogReader(followed, page, after, read, () => this.leave(responseId, followed));
  }

  private join(responseId: string): FollowedLog {
    let followed = this.followed.get(responseId);
    if (followed === undefined) this.followed.set(responseId, (followed = new FollowedLog(this.clock)));
    followed.readers += 1;
    return followed;
  }

  private leave(responseId: string, followed: FollowedLog): void {
    followed.readers -= 1;
    if (followed.readers > 0) return;
    followed.close();
    this.followed.delete(responseId);
  }

  private requireStream(page: LogPage | undefined, responseId: string): LogEvents {
    if (page === undefined) throw ApiError.notFound('Response', responseId);
    if (!('missing' in page)) return page;
    const message =
      page.missing === 'expired'
        ? `The events of this response are no longer stored: they are kept for ${this.environment.EVENT_LOG_TTL} seconds after its end. Retrieve the response without 'stream'.`
        : 'Only a response created with background and stream can be streamed again.';
    throw ApiError.of('invalid_mode', message, { param: 'stream' });
  }
}

/** One reader of a log: the events of one response, page by page. */
export class LogReader {
  private isClosed = false;
  private isOver = false;
  private wake: () => void = () => undefined;

  constructor(
    private readonly followed: FollowedLog,
    private page: LogEvents | null,
    private after: number,
    /** The events after a number; null while the store is not available. Rejects with StreamGoneError. */
    private readonly read: (after: number) => Promise<LogEvents | null>,
    private readonly leave: () => void,
  ) {}

  /**
   * Resolves with the next events as soon as there are some; undefined after the last, and once it is closed. Rejects with
   * StreamGoneError.
   */
  async next(): Promise<readonly StreamEvent[] | undefined> {
    while (!this.isClosed && !this.isOver) {
      // Asked first, so that no change during the read is missed.
      const changed = new Promise<void>((resolve) => {
        this.wake = resolve;
        this.followed.whenChanged(resolve);
      });
      const page = this.page ?? this.followed.known(this.after) ?? (await this.read(this.after));
      this.page = null;
      if (page === null) {
        await changed;
        continue;
      }
      this.isOver = page.isLast;
      const last = page.events.at(-1);
      if (last === undefined) {
        if (!page.isLast) await changed;
        continue;
      }
      this.after = last.sequenceNumber;
      return page.events;
    }
    return undefined;
  }

  /** The reader has left. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.leave();
    this.wake();
  }
}

/** The log of one response, as the readers of this process follow it together. */
class FollowedLog {
  /** How many read it. */
  readers = 0;
  /** The events that this process has added last; null when there may be others after them. */
  private latest: LogEvents | null = null;
  /** Reads since the last change: readers at the same place share one. */
  private reads = new Map<string, Promise<LogPage | undefined>>();
  private waiters: (() => void)[] = [];
  private readonly poll: Timer;

  constructor(clock: Clock) {
    this.poll = clock.schedule(POLL_MS, () => this.change());
  }

  /**
   * There are new events: later reads see them, and those who wait go on. If this process has added them, they are given,
   * and readers who wait for them need no read.
   */
  change(events?: readonly StreamEvent[]): void {
    this.latest = events === undefined ? null : { events, isLast: isTerminalEvent(events.at(-1)) };
    if (this.reads.size > 0) this.reads = new Map();
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
    this.poll.refresh();
  }

  /** The last reader has left. */
  close(): void {
    this.poll.cancel();
  }

  /** Calls back with the next change. */
  whenChanged(wake: () => void): void {
    this.waiters.push(wake);
  }

  /** What follows a number, if that is known without a read: the latest events, or none yet. */
  known(after: number): LogEvents | undefined {
    const { latest } = this;
    if (latest === null) return undefined;
    if (latest.events[0]?.sequenceNumber === after + 1) return latest;
    return latest.events.at(-1)?.sequenceNumber === after ? NOTHING : undefined;
  }

  /** The result of a read at a place. */
  read(place: string, read: () => Promise<LogPage | undefined>): Promise<LogPage | undefined> {
    let reading = this.reads.get(place);
    if (reading === undefined) this.reads.set(place, (reading = read()));
    return reading;
  }
}
