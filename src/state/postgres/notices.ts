import pg from 'pg';

import type { Clock } from '../../time/index.js';
import { type NoticeConnection, NoticeReceiver } from '../notice-receiver.js';
import type { DeletionNotices, RunNotices } from '../notices.js';
import { CHANNELS } from './channels.js';
import { type DatabaseSettings, directOptions } from './connection-options.js';
import type { PostgresEventLog } from './log.js';

/** Time limit of the check of the connection, ms. */
const CHECK_TIMEOUT_MS = 5000;

const LISTEN = Object.values(CHANNELS)
  .map((channel) => `LISTEN ${channel}`)
  .join('; ');

/** Receives the notices of all replicas. */
export class NoticeListener extends NoticeReceiver {
  private readonly receivers: Readonly<Record<string, (payload: string) => void>>;

  constructor(
    private readonly settings: DatabaseSettings,
    deletions: DeletionNotices,
    runs: RunNotices,
    log: PostgresEventLog,
    clock: Clock,
  ) {
    super(deletions, runs, clock);
    this.receivers = {
      [CHANNELS.deleted]: (ids) => deletions.announce(ids.split(' ')),
      [CHANNELS.logged]: (notice) => log.receive(notice),
      [CHANNELS.ended]: (ids) => runs.announceEnded(ids.split(' ')),
      [CHANNELS.jobs]: () => runs.announceEnqueued(),
    };
  }

  protected override connect(_attempt: number, lose: (reason: Error) => void): NoticeConnection {
    const client = new pg.Client({ ...directOptions(this.settings), query_timeout: CHECK_TIMEOUT_MS });
    client.on('error', lose);
    client.on('end', () => lose(new Error('the connection was closed')));
    client.on('notification', ({ channel, payload = '' }) => this.receivers[channel]?.(payload));
    return {
      open: () => client.connect().then(() => client.query(LISTEN)),
      check: () => client.query('SELECT'),
      // Closing a dead connection may never complete.
      close: () => void client.end().catch(() => undefined),
    };
  }
}
