import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import {
  type ResponseStore,
  type WriteLease,
  WriteLockLostError,
  StoreUnavailableError,
} from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { LEASE_MS, append, contextFrom, contextOf, message, newTenant, recordOf } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Responses are saved by who holds the lock of their session, and by nobody after that. */
export const FENCING = part('locks', 'saving under a lease', ({ share, it }) => {
  let opened: TestedState;
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
    await assert.rejects(save(id, fence, sessionId), WriteLockLostError);
    assert.equal(await store.get(tenant, id), undefined);
    assert.equal(await opened.content(), before);
  };

  share(async (state, newcomer) => {
    [opened, store, tenant] = [state, state.backend.responses, newcomer];
    lease = await acquire();
  });

  it('saving is done as long as the lease is held', async () => {
    await save('a');
    await lease.renew();
    await save('b');
    assert.equal(await opened.backend.sessions.hasAtLeast(tenant, 'session', 2), true);
  });

  it('saving is done when the lease has expired but nobody else took the session', async () => {
    await opened.expireLeases();
    await save('a');
    assert.notEqual(await store.get(tenant, 'a'), undefined);
  });

  it('saving is refused once somebody else took the session', async () => {
    await save('before');
    await opened.expireLeases();
    const next = await acquire();
    await expectRefused('late');
    await save('of the next', next.fence);
    assert.notEqual(await store.get(tenant, 'before'), undefined);
  });

  it('saving is refused when whoever took the session is done already', async () => {
    await opened.expireLeases();
    await (await acquire()).release();
    await expectRefused('late');
  });

  it('saving is refused under the lease of another session or of another tenant', async () => {
    await expectRefused('a', (await acquire('another')).fence);
    await expectRefused('a', lease.fence, 'another');
    await expectRefused('a', (await acquire('session', newTenant())).fence);
    await expectRefused('a', lease.fence + 1_000_000);
  });

  it('saving is refused when the parent is gone as well', async () => {
    await opened.expireLeases();
    await acquire();
    const record = recordOf('late', { sessionId: 'session', fence: lease.fence, parentId: 'gone' });
    await assert.rejects(async () => store.save(tenant, record), WriteLockLostError);
    assert.equal(await store.get(tenant, 'late'), undefined);
  });

  it('saving keeps what came before when the parent is gone', async () => {
    const inherited = contextFrom('gone').map((id) => message(id));
    const parts = { sessionId: 'session', fence: lease.fence, parentId: 'gone', inherited };
    await store.save(tenant, recordOf('child', parts));
    requireAlike(await contextOf(store, tenant, 'child'), contextFrom('gone', 'child'));
  });

  it('a turn without a lease is saved without waiting for anybody', async () => {
    await save('a', null);
    await append(store, tenant, 'b', { parentId: 'a' });
    assert.notEqual(await store.get(tenant, 'b', 'session'), undefined);
  });

  it('a refused save tells the client to try again', async () => {
    const fault = await save('a', lease.fence + 1).catch((error: unknown) => error);
    assert.ok(fault instanceof StoreUnavailableError);
    requireMatch(fault.toApiError(), { status: 503 });
  });

  it('saving is refused to all but the latest holder, whoever saves at once', async () => {
    const leases = [lease];
    for (let round = 0; round < 4; round += 1) {
      await opened.expireLeases();
      leases.push(await acquire());
    }
    const saves = leases.map(({ fence }) => save(`r${fence}`, fence));
    const outcomes = (await Promise.allSettled(saves)).map(({ status }) => status);
    requireAlike(outcomes, ['rejected', 'rejected', 'rejected', 'rejected', 'fulfilled']);
  });
});
