import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { CHANNELS } from '../../src/state/postgres/channels.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import { SystemClock } from '../../src/time/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { enqueue, openPostgres, type OpenedPostgres, settingsFor } from './postgres-fixture.js';

describe('notices of background responses between replicas over one PostgreSQL', () => {
  let opened: OpenedPostgres;
  let proxy: TcpProxy;
  let replica: PostgresBackend;
  let heard: unknown[];
  let wake: () => void;

  beforeAll(async () => {
    opened = await openPostgres();
    const url = new URL(opened.database.url);
    proxy = await TcpProxy.open(Number(url.port));
    url.port = String(proxy.port);
    replica = new PostgresBackend(settingsFor(url.href), new SystemClock());
    heard = [];
    wake = () => undefined;
    const hear = (notice: unknown): void => {
      heard.push(notice);
      wake();
    };
    replica.runNotices.subscribe({
      logged: (ids) => hear({ logged: ids }),
      ended: (ids) => hear({ ended: ids }),
      enqueued: () => hear('enqueued'),
      resumed: () => hear('resumed'),
    });
    await replica.start();
    await next('resumed');
  });
  afterAll(async () => {
    await replica.stop();
    await proxy.close();
    await opened.close();
  });

  /** Resolves when the next notice is heard, and is this one. */
  const next = async (notice: unknown): Promise<void> => {
    while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
    expect(heard.shift()).toEqual(notice);
  };
  const notify = (channel: string, payload: string): Promise<unknown> =>
    opened.database.query('SELECT pg_notify($1, $2)', [channel, payload]);

  it('notices of background responses tell of logged events, ended runs and enqueued jobs, each its listeners', async () => {
    await notify(CHANNELS.logged, 'process resp_1 resp_2');
    await next({ logged: ['resp_1', 'resp_2'] });
    await notify(CHANNELS.ended, 'resp_3');
    await next({ ended: ['resp_3'] });
    await enqueue(opened.backend, { queue: 'turns', data: {} }, { queue: 'webhooks', data: {} });
    await next('enqueued');
    await notify(CHANNELS.deleted, 'resp_4');
    await notify(CHANNELS.logged, 'process resp_5');
    await next({ logged: ['resp_5'] });
  });

  it('notices of background responses are resumed after the connection was lost', async () => {
    await proxy.cut();
    await notify(CHANNELS.logged, 'process missed');
    await proxy.restore();
    await next('resumed');
    await notify(CHANNELS.logged, 'process heard');
    await next({ logged: ['heard'] });
  });
});
