import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import {
  type ResponseStore,
  type WriteLease,
  WriteLockLostError,
  StoreUnavailableError,
} from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { LEASE_MS, append, contextFrom, contextOf, message, newTenant, recordOf } from './records.js';

describe.each(BACKENDS)('saving under a lease in $name', ({ open }) => {
  let opened: OpenedBackend;
  let store: ResponseStore;
  let tenant: Tenant;
  let lease: WriteLease;

  const acquire = async (sessionId = 'session', of = tenant): Promise<WriteLease> => {
    const granted = await opened.backend.locks.tryAcquire(of, sessionId, LEASE_MS);
    if (granted === undefined) throw new Error('the session is not free');
    return granted;
  };
  const save = async (id: string, fence: number | null = lease.fence, sessionId = 'session'): Promise<void> =>
    store.save(tenant, recordOf(id, { sessionId, fence }));
  const expectRefused = async (id: string, fence?: number, sessionId?: string): Promise<void> => {
    const before = await opened.content();
    await expect(save(id, fence, sessionId)).rejects.toBeInstanceOf(WriteLockLostError);
    expect(await store.get(tenant, id)).toBeUndefined();
    expect(await opened.content()).toBe(before);
  };

  beforeAll(async () => {
    opened = await open();
    store = opened.backend.responses;
  });
  beforeEach(async () => {
    tenant = newTenant();
    lease = await acquire();
  });
  afterAll(() => opened.close());

  it('is done as long as the lease is held', async () => {
    await save('a');
    await lease.renew();
    await save('b');
    expect(await opened.backend.sessions.hasAtLeast(tenant, 'session', 2)).toBe(true);
  });

  it('is done when the lease has expired but nobody else took the session', async () => {
    await opened.expireLeases();
    await save('a');
    expect(await store.get(tenant, 'a')).toBeDefined();
  });

  it('is refused once somebody else took the session', async () => {
    await save('before');
    await opened.expireLeases();
    const next = await acquire();
    await expectRefused('late');
    await save('of the next', next.fence);
    expect(await store.get(tenant, 'before')).toBeDefined();
  });

  it('is refused when whoever took the session is done already', async () => {
    await opened.expireLeases();
    await (await acquire()).release();
    await expectRefused('late');
  });

  it('is refused under the lease of another session or of another tenant', async () => {
    await expectRefused('a', (await acquire('another')).fence);
    await expectRefused('a', lease.fence, 'another');
    await expectRefused('a', (await acquire('session', newTenant())).fence);
    await expectRefused('a', lease.fence + 1_000_000);
  });

  it('is refused when the parent is gone as well', async () => {
    await opened.expireLeases();
    await acquire();
    const record = recordOf('late', { sessionId: 'session', fence: lease.fence, parentId: 'gone' });
    await expect(store.save(tenant, record)).rejects.toBeInstanceOf(WriteLockLostError);
    expect(await store.get(tenant, 'late')).toBeUndefined();
  });

  it('keeps what came before when the parent is gone', async () => {
    const inherited = contextFrom('gone').map((id) => message(id));
    const parts = { sessionId: 'session', fence: lease.fence, parentId: 'gone', inherited };
    await store.save(tenant, recordOf('child', parts));
    expect(await contextOf(store, tenant, 'child')).toEqual(contextFrom('gone', 'child'));
  });

  it('is not what turns without a lease do: they do not wait for anybody', async () => {
    await save('a', null);
    await append(store, tenant, 'b', { parentId: 'a' });
    expect(await store.get(tenant, 'b', 'session')).toBeDefined();
  });

  it('tells the client to try again when it is refused', async () => {
    const fault = await save('a', lease.fence + 1).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(StoreUnavailableError);
    expect((fault as StoreUnavailableError).toApiError()).toMatchObject({ status: 503 });
  });

  it('is refused to all but the latest holder, whoever saves at once', async () => {
    const leases = [lease];
    for (let round = 0; round < 4; round += 1) {
      await opened.expireLeases();
      leases.push(await acquire());
    }
    const saves = leases.map(({ fence }) => save(`r${fence}`, fence));
    const outcomes = (await Promise.allSettled(saves)).map(({ status }) => status);
    expect(outcomes).toEqual(['rejected', 'rejected', 'rejected', 'rejected', 'fulfilled']);
  });
});
