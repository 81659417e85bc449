import { Logger } from '@nestjs/common';
import pg from 'pg';

import { Backoff, type Clock } from '../../time/index.js';
import { describe } from '../driver-errors.js';
import type { DeletionNotices, RunNotices } from '../notices.js';
import { PAUSES } from '../repeat.js';
import { CHANNELS } from './channels.js';
import { type DatabaseSettings, directOptions } from './connection-options.js';
import type { PostgresEventLog } from './log.js';

/** How often the connection is checked, ms: it is otherwise idle while nothing happens. */
const CHECK_INTERVAL_MS = 15_000;
/** Time limit of the check, ms. */
const CHECK_TIMEOUT_MS = 5000;

const LISTEN = Object.values(CHANNELS)
  .map((channel) => `LISTEN ${channel}`)
  .join('; ');

/** Receives the notices of all replicas on a dedicated connection, which is reopened when it is lost. */
export class NoticeListener {
  private readonly logger = new Logger('NoticeListener');
  private readonly stopping = new AbortController();
  private readonly backoff: Backoff;
  private readonly receivers: Readonly<Record<string, (payload: string) => void>>;
  private running: Promise<void> = Promise.resolve();
  private isReceiving = true;

  constructor(
    private readonly settings: DatabaseSettings,
    private readonly deletions: DeletionNotices,
    private readonly runs: RunNotices,
    log: PostgresEventLog,
    private readonly clock: Clock,
  ) {
    this.backoff = new Backoff(clock, PAUSES);
    this.receivers = {
      [CHANNELS.deleted]: (ids) => deletions.announce(ids.split(' ')),
      [CHANNELS.logged]: (notice) => log.receive(notice),
      [CHANNELS.ended]: (ids) => runs.announceEnded(ids.split(' ')),
      [CHANNELS.jobs]: () => runs.announceEnqueued(),
    };
  }

  /** Connects; the notices of deletions are interrupted until then. */
  start(): void {
    this.deletions.interrupt();
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private async run(): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      await this.listen(signal);
      this.deletions.interrupt();
      await this.clock.sleep(this.backoff.failed(), signal);
    }
  }

  /** Receives notices until the connection is lost. Never rejects. */
  private async listen(signal: AbortSignal): Promise<void> {
    const client = new pg.Client({ ...directOptions(this.settings), query_timeout: CHECK_TIMEOUT_MS });
    const { promise: loss, reject: lose } = Promise.withResolvers<never>();
    loss.catch(() => undefined);
    const stop = (): void => lose(new Error('the service is stopping'));
    client.on('error', lose);
    client.on('end', () => lose(new Error('the connection was closed')));
    client.on('notification', ({ channel, payload = '' }) => this.receivers[channel]?.(payload));
    signal.addEventListener('abort', stop, { once: true });
    const check = this.clock.schedule(CHECK_INTERVAL_MS, () => {
      client.query('SELECT').then(() => check.refresh(), lose);
    });
    try {
      await Promise.race([client.connect(), loss]);
      await Promise.race([client.query(LISTEN), loss]);
      this.backoff.succeeded();
      this.deletions.resume();
      this.runs.announceResumed();
      if (!this.isReceiving) this.logger.log('notices of other replicas are received again');
      this.isReceiving = true;
      await loss;
    } catch (error) {
      // Logged once, not with every attempt.
      if (!signal.aborted && this.isReceiving) {
        this.logger.warn(`notices of other replicas are not received: ${describe(error)}`);
      }
      this.isReceiving = false;
    } finally {
      check.cancel();
      signal.removeEventListener('abort', stop);
      // Closing a dead connection may never complete.
      void client.end().catch(() => undefined);
    }
  }
}
