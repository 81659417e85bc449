import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError, type StreamEvent } from '../../protocol/index.js';
import { EventLog, type LogPage, RunNotices, StoreUnavailableError } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { FollowedLog, type LogEvents } from './followed-log.js';

type Events = readonly StreamEvent[];

/** The events of one response, page by page. */
export interface EventStream {
  /** Resolves with the next events as soon as there are some; undefined after the last, and once it is closed. */
  next(): Promise<Events | undefined>;

  /** The reader has left. */
  close(): void;
}

/** Reads the events of background responses on any replica: what is logged, then what is added (protocol §1.1). */
@Injectable()
export class EventStreams implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger(EventStreams.name));
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
  async open(tenant: Tenant, responseId: string, after: number, within?: string): Promise<EventStream> {
    const page = this.requireStream(await this.log.read(tenant, responseId, after, within), responseId);
    const followed = this.follow(responseId);
    return new LogReader(page, after, {
      known: (last) => followed.known(last),
      read: (last) => {
        const place = JSON.stringify([tenant, within, last]);
        return followed.read(place, () => this.log.read(tenant, responseId, last, within));
      },
      wait: (wake) => followed.whenChanged(wake),
      retry: (error) => {
        this.outages.warn(`the stream of ${responseId} waits for the store`, String(error));
      },
      leave: () => this.leave(responseId, followed),
    });
  }

  private follow(responseId: string): FollowedLog {
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

/** The dependencies of a reader. */
interface Source {
  /** The events after a number. */
  readonly read: (after: number) => Promise<LogPage | undefined>;
  /** The same, if it is known without a read. */
  readonly known: (after: number) => LogEvents | undefined;
  /** Calls back with the next change of the log. */
  readonly wait: (wake: () => void) => void;
  /** A read has failed; it is repeated with the next change. */
  readonly retry: (error: unknown) => void;
  readonly leave: () => void;
}

/** One reader of a log. */
class LogReader implements EventStream {
  private isClosed = false;
  private isOver = false;
  private wake: () => void = () => undefined;

  constructor(
    private page: LogEvents | null,
    private after: number,
    private readonly source: Source,
  ) {}

  async next(): Promise<Events | undefined> {
    while (!this.isClosed && !this.isOver) {
      // Asked first, so that no change during the read is missed.
      const changed = new Promise<void>((resolve) => {
        this.wake = resolve;
        this.source.wait(resolve);
      });
      const page = this.page ?? this.source.known(this.after) ?? (await this.read());
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

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.source.leave();
    this.wake();
  }

  /** Null while the store is not available. A response that was deleted meanwhile has no more events. */
  private async read(): Promise<LogEvents | null> {
    try {
      const page = await this.source.read(this.after);
      return page === undefined || 'missing' in page ? { events: [], isLast: true } : page;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      this.source.retry(error);
      return null;
    }
  }
}
