import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { PostgresBackend } from '../../src/state/postgres/index.js';
import { append, newTenant, recordOf, START, TTL_MS } from '../../src/testing/state/records.js';
import { SystemClock } from '../../src/time/index.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { openPostgres, type OpenedPostgres, settingsFor } from './postgres-fixture.js';

/** What another replica hears: the ids, and whether it hears at all. */
class Hearing {
  readonly heard = new Set<string>();
  /** `interrupted` and `resumed`, in their order. */
  readonly states: string[] = [];
  private readonly waiting: (() => void)[] = [];

  constructor(backend: PostgresBackend) {
    backend.notices.subscribe({
      deleted: (ids) => {
        for (const id of ids) this.heard.add(id);
        this.wake();
      },
      interrupted: () => this.enter('interrupted'),
      resumed: () => this.enter('resumed'),
    });
  }

  /** Resolves once a condition holds; it is looked at whenever something is heard. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  untilHeard(...ids: readonly string[]): Promise<void> {
    return this.until(() => ids.every((id) => this.heard.has(id)));
  }

  private enter(state: string): void {
    this.states.push(state);
    this.wake();
  }

  private wake(): void {
    for (const resolve of this.waiting.splice(0)) resolve();
  }
}

describe('notices of deletion between replicas over one PostgreSQL', () => {
  const tenant = newTenant();
  let opened: OpenedPostgres;
  let proxy: TcpProxy;
  let replica: PostgresBackend;
  let hearing: Hearing;

  beforeAll(async () => {
    opened = await openPostgres();
    const url = new URL(opened.database.url);
    proxy = await TcpProxy.open(Number(url.port));
    url.port = String(proxy.port);
    replica = new PostgresBackend(settingsFor(url.href), new SystemClock());
    hearing = new Hearing(replica);
    await replica.start();
    await hearing.until(() => hearing.states.includes('resumed'));
  });
  afterAll(async () => {
    await replica.stop();
    await proxy.close();
    await opened.close();
  });

  it('notices of deletion begin interrupted, until the replica listens', () => {
    expect(hearing.states).toEqual(['interrupted', 'resumed']);
  });

  it('notices of deletion tell of a deleted response', async () => {
    await append(opened.backend.responses, tenant, 'deleted');
    await append(opened.backend.responses, tenant, 'kept');
    await opened.backend.responses.delete(tenant, 'deleted', { cascade: false });
    await hearing.untilHeard('deleted');
    expect(hearing.heard).not.toContain('kept');
  });

  it('notices of deletion tell of a response that stays as context', async () => {
    await append(opened.backend.responses, tenant, 'parent');
    await append(opened.backend.responses, tenant, 'child', { parentId: 'parent' });
    await opened.backend.responses.delete(tenant, 'parent', { cascade: false });
    await hearing.untilHeard('parent');
    expect(hearing.heard).not.toContain('child');
  });

  it('notices of deletion tell of every response of a large cascade, whose ids do not fit into one notice', async () => {
    const ids = Array.from({ length: 500 }, (_, index) => `resp_${String(index).padStart(32, '0')}`);
    await opened.saveMany(tenant, [
      recordOf('root'),
      ...ids.map((id) => recordOf(id, { parentId: 'root', sessionId: 'root' })),
    ]);
    expect(await opened.backend.responses.delete(tenant, 'root', { cascade: true })).toBe(501);
    await hearing.untilHeard('root', ...ids);
  });

  it('notices of deletion tell of the responses of a deleted session', async () => {
    for (const id of ['s1', 's2', 's3']) await append(opened.backend.responses, tenant, id, { sessionId: 'session' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'session', targetId: 'fork', upToResponseId: 's1' });
    await opened.backend.sessions.delete(tenant, 'session');
    // What the fork shares belongs to another session now.
    await hearing.untilHeard('s1', 's2', 's3');
  });

  it('notices of deletion tell of what is purged', async () => {
    const ids = Array.from({ length: 50 }, (_, index) => `expired-${index}`);
    for (const id of ids) await append(opened.backend.responses, tenant, id, { expiresAt: START + 1000 });
    opened.clock.advance(1000);
    await opened.backend.responses.purge();
    await hearing.untilHeard(...ids);
  });

  it('notices of deletion come only once the responses cannot be seen any more', async () => {
    await append(opened.backend.responses, tenant, 'seen', { expiresAt: Date.now() + TTL_MS });
    const deleted = opened.backend.responses.delete(tenant, 'seen', { cascade: false });
    await hearing.untilHeard('seen');
    expect(await replica.responses.get(tenant, 'seen')).toBeUndefined();
    await deleted;
  });

  it('notices of deletion are interrupted when the connection is lost, and resumed by themselves', async () => {
    hearing.states.length = 0;
    await proxy.cut();
    await hearing.until(() => hearing.states.includes('interrupted'));
    await append(opened.backend.responses, tenant, 'unheard');
    await opened.backend.responses.delete(tenant, 'unheard', { cascade: false });
    await proxy.restore();
    await hearing.until(() => hearing.states.at(-1) === 'resumed');
    await append(opened.backend.responses, tenant, 'heard-again');
    await opened.backend.responses.delete(tenant, 'heard-again', { cascade: false });
    await hearing.untilHeard('heard-again');
    expect(hearing.heard).not.toContain('unheard');
  });

  it('notices of deletion are interrupted when the database ends the connection, and resumed', async () => {
    hearing.states.length = 0;
    await opened.database.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND datname = current_database()",
    );
    await hearing.until(() => hearing.states.at(-1) === 'resumed');
    expect(hearing.states[0]).toBe('interrupted');
  });
});
