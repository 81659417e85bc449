import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { WriteLease } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { LEASE_MS, newTenant } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** The lock of a session has one holder. */
export const WRITE_LOCK = part('locks', 'the lock on a session', ({ share, it }) => {
  let opened: TestedState;
  let tenant: Tenant;

  share((state, newcomer) => ([opened, tenant] = [state, newcomer]));

  const tryAcquire = (sessionId = 'session', of = tenant): Promise<WriteLease | undefined> =>
    opened.backend.locks.tryAcquire(of, sessionId, LEASE_MS);
  const acquire = async (sessionId?: string): Promise<WriteLease> => {
    const lease = await tryAcquire(sessionId);
    if (lease === undefined) throw new Error('the session is not free');
    return lease;
  };

  it('the lock on a session has one holder, until that gives it back', async () => {
    const lease = await acquire();
    assert.equal(await tryAcquire(), undefined);
    assert.equal(await tryAcquire(), undefined);
    await lease.release();
    await acquire();
    assert.equal(await tryAcquire(), undefined);
  });

  it('the lock on a session is of one session of one tenant', async () => {
    await acquire();
    assert.notEqual(await tryAcquire('another'), undefined);
    assert.notEqual(await tryAcquire('session', newTenant()), undefined);
  });

  it('the lock on a session is given to exactly one of fifty who want it at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const leases = await Promise.all(Array.from({ length: 50 }, () => tryAcquire()));
      const granted = leases.filter((lease) => lease !== undefined);
      assert.equal(granted.length, 1);
      await granted[0]?.release();
    }
  });

  it('the lock on a session is given to exactly one of fifty when it expires', async () => {
    await acquire();
    await opened.expireLeases();
    const leases = await Promise.all(Array.from({ length: 50 }, () => tryAcquire()));
    assert.equal(leases.filter((lease) => lease !== undefined).length, 1);
  });

  it('the lock on a session is free when its lease has expired', async () => {
    const lease = await acquire();
    await opened.expireLeases();
    const next = await acquire();
    assert.ok(next.fence > lease.fence);
    assert.equal(await tryAcquire(), undefined);
  });

  it('the lock on a session is kept by renewing, also when the lease had expired but nobody wanted it', async () => {
    const lease = await acquire();
    assert.equal(await lease.renew(), true);
    await opened.expireLeases();
    assert.equal(await lease.renew(), true);
    assert.equal(await tryAcquire(), undefined);
  });

  it('the lock on a session is not renewed by who has lost it, nor given back', async () => {
    const lost = await acquire();
    await opened.expireLeases();
    const lease = await acquire();
    assert.equal(await lost.renew(), false);
    await lost.release();
    assert.equal(await tryAcquire(), undefined);
    assert.equal(await lease.renew(), true);
  });

  it('the lock on a session is not renewed by who has lost it and whose successor is done', async () => {
    const lost = await acquire();
    await opened.expireLeases();
    await (await acquire()).release();
    assert.equal(await lost.renew(), false);
    await lost.release();
    assert.notEqual(await tryAcquire(), undefined);
  });

  it('the lock on a session is given back once, and not renewed any more', async () => {
    const lease = await acquire();
    await lease.release();
    assert.equal(await lease.renew(), false);
    const next = await acquire();
    await lease.release();
    assert.equal(await tryAcquire(), undefined);
    assert.equal(await next.renew(), true);
  });

  it('the lock on a session has a fence that grows with every lease', async () => {
    const fences: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const lease = await acquire();
      fences.push(lease.fence);
      if (round % 2 === 0) await lease.release();
      else await opened.expireLeases();
    }
    requireAlike(
      fences,
      fences.toSorted((left, right) => left - right),
    );
    assert.equal(new Set(fences).size, 6);
    assert.equal(fences.every(Number.isSafeInteger), true);
  });
});
