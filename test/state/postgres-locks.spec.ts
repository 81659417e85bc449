import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type WriteLock, WriteLockLostError } from '../../src/state/index.js';
import { newTenant, purge, recordOf } from '../../src/testing/state/records.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';

describe('session locks of replicas over one PostgreSQL', () => {
  let opened: OpenedPostgres;
  let one: WriteLock;
  let other: WriteLock;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await openPostgres();
    one = opened.backend.locks;
    other = (await opened.replica()).locks;
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  it('session locks exclude each other', async () => {
    const lease = await one.tryAcquire(tenant, 'session', 60_000);
    expect(await other.tryAcquire(tenant, 'session', 60_000)).toBeUndefined();
    await lease?.release();
    expect(await other.tryAcquire(tenant, 'session', 60_000)).toBeDefined();
    expect(await one.tryAcquire(tenant, 'session', 60_000)).toBeUndefined();
  });

  it('a session lock is given to exactly one replica, whichever wants it', async () => {
    for (let round = 0; round < 20; round += 1) {
      const wanting = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : other));
      const leases = await Promise.all(wanting.map((locks) => locks.tryAcquire(tenant, `session-${round}`, 60_000)));
      expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
    }
  });

  it('session locks come free by themselves when a replica dies', async () => {
    const lost = await one.tryAcquire(tenant, 'session', 100);
    let lease;
    do lease = await other.tryAcquire(tenant, 'session', 60_000);
    while (lease === undefined);
    expect(lease.fence).toBeGreaterThan(lost?.fence ?? Infinity);
    expect(await lost?.renew()).toBe(false);
    const late = recordOf('late', { sessionId: 'session', fence: lost?.fence ?? 0 });
    await expect(opened.backend.responses.save(tenant, late)).rejects.toBeInstanceOf(WriteLockLostError);
  });

  it('session locks refuse a save whose lease is lost after it was found that the parent is gone', async () => {
    const { database, backend } = opened;
    const lease = await one.tryAcquire(tenant, 'session', 60_000);
    // The first statement still holds the lease, and finds no parent; the second finds neither.
    await database.query(`CREATE FUNCTION take_over() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN UPDATE antiphon.session_locks SET fence = nextval('antiphon.session_fences'); RETURN NULL; END $$`);
    await database.query(
      'CREATE TRIGGER take_over AFTER INSERT ON antiphon.responses FOR EACH STATEMENT EXECUTE FUNCTION take_over()',
    );
    const late = recordOf('late', { sessionId: 'session', fence: lease?.fence ?? 0, parentId: 'gone' });
    await expect(backend.responses.save(tenant, late)).rejects.toBeInstanceOf(WriteLockLostError);
    await database.query('DROP TRIGGER take_over ON antiphon.responses');
    expect(await backend.responses.get(tenant, 'late')).toBeUndefined();
  });

  it('session locks are forgotten a day after they expired, when nobody gave them back', async () => {
    await one.tryAcquire(tenant, 'old', 60_000);
    await opened.database.query("UPDATE antiphon.session_locks SET expires_at = now() - interval '2 days'");
    await one.tryAcquire(tenant, 'new', 60_000);
    await purge(opened.backend.responses);
    const rows = await opened.database.query('SELECT session_id FROM antiphon.session_locks');
    expect(rows).toEqual([{ session_id: 'new' }]);
  });
});
