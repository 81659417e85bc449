import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { WriteLease } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { LEASE_MS, newTenant } from './records.js';

describe.each(BACKENDS)('the lock on a session in $name', ({ open }) => {
  let opened: OpenedBackend;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  const tryAcquire = (sessionId = 'session', of = tenant): Promise<WriteLease | undefined> =>
    opened.backend.locks.tryAcquire(of, sessionId, LEASE_MS);
  const acquire = async (sessionId?: string): Promise<WriteLease> => {
    const lease = await tryAcquire(sessionId);
    if (lease === undefined) throw new Error('the session is not free');
    return lease;
  };

  it('has one holder, until that gives it back', async () => {
    const lease = await acquire();
    expect(await tryAcquire()).toBeUndefined();
    expect(await tryAcquire()).toBeUndefined();
    await lease.release();
    await acquire();
    expect(await tryAcquire()).toBeUndefined();
  });

  it('is of one session of one tenant', async () => {
    await acquire();
    expect(await tryAcquire('another')).toBeDefined();
    expect(await tryAcquire('session', newTenant())).toBeDefined();
  });

  it('is given to exactly one of fifty who want it at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const leases = await Promise.all(Array.from({ length: 50 }, () => tryAcquire()));
      const granted = leases.filter((lease) => lease !== undefined);
      expect(granted).toHaveLength(1);
      await granted[0]?.release();
    }
  });

  it('is given to exactly one of fifty when it expires', async () => {
    await acquire();
    await opened.expireLeases();
    const leases = await Promise.all(Array.from({ length: 50 }, () => tryAcquire()));
    expect(leases.filter((lease) => lease !== undefined)).toHaveLength(1);
  });

  it('is free when its lease has expired', async () => {
    const lease = await acquire();
    await opened.expireLeases();
    const next = await acquire();
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await tryAcquire()).toBeUndefined();
  });

  it('is kept by renewing, also when the lease had expired but nobody wanted it', async () => {
    const lease = await acquire();
    expect(await lease.renew()).toBe(true);
    await opened.expireLeases();
    expect(await lease.renew()).toBe(true);
    expect(await tryAcquire()).toBeUndefined();
  });

  it('is not renewed by who has lost it, nor given back', async () => {
    const lost = await acquire();
    await opened.expireLeases();
    const lease = await acquire();
    expect(await lost.renew()).toBe(false);
    await lost.release();
    expect(await tryAcquire()).toBeUndefined();
    expect(await lease.renew()).toBe(true);
  });

  it('is not renewed by who has lost it and whose successor is done', async () => {
    const lost = await acquire();
    await opened.expireLeases();
    await (await acquire()).release();
    expect(await lost.renew()).toBe(false);
    await lost.release();
    expect(await tryAcquire()).toBeDefined();
  });

  it('is given back once, and not renewed any more', async () => {
    const lease = await acquire();
    await lease.release();
    expect(await lease.renew()).toBe(false);
    const next = await acquire();
    await lease.release();
    expect(await tryAcquire()).toBeUndefined();
    expect(await next.renew()).toBe(true);
  });

  it('has a fence that grows with every lease', async () => {
    const fences: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const lease = await acquire();
      fences.push(lease.fence);
      if (round % 2 === 0) await lease.release();
      else await opened.expireLeases();
    }
    expect(fences).toEqual(fences.toSorted((left, right) => left - right));
    expect(new Set(fences).size).toBe(6);
    expect(fences.every(Number.isSafeInteger)).toBe(true);
  });
});
