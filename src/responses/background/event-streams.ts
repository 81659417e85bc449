import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError } from '../../protocol/index.js';
import { EventLog, inOneLine, type LogPage, RunNotices } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import { FollowedLog, type LogEvents } from './followed-log.js';
import { LogReader } from './log-reader.js';

/** The cursor before the first event. */
export const BEFORE_ALL = -1;

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
    return new LogReader(page, after, {
      known: (last) => followed.known(last),
      read: (last) => {
        const place = JSON.stringify([tenant, within, last]);
        return followed.read(place, () => this.log.read(tenant, responseId, last, within));
      },
      wait: (wake) => followed.whenChanged(wake),
      retry: (error) => {
        this.outages.warn(`the stream of ${responseId} waits for the store`, inOneLine(error));
      },
      leave: () => this.leave(responseId, followed),
    });
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
