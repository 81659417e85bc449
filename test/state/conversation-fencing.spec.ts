import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import {
  ConversationChangedError,
  conversationLock,
  type OpenedConversation,
  type StateBackend,
  StoreUnavailableError,
  WriteLockLostError,
} from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { createConversation, idsOf, openConversation, partsIn, seenIn, turnIn, turnWhenFree } from './conversations.js';
import { LEASE_MS, contextFrom, message, newTenant, recordOf } from './records.js';
import { endingOf, launch } from './runs.js';

describe.each(BACKENDS)('turns of a conversation in $name', ({ open }) => {
  let opened: OpenedBackend;
  let backend: StateBackend;
  let tenant: Tenant;
  let lease: OpenedConversation;
  let runs = 0;

  beforeAll(async () => {
    opened = await open();
    backend = opened.backend;
  });
  beforeEach(async () => {
    tenant = newTenant();
    await createConversation(backend, tenant, 'c', 'a');
    lease = await openConversation(backend, tenant, 'c');
  });
  afterAll(() => opened.close());

  const tryOpen = (): Promise<unknown> => backend.conversations.open(tenant, 'c', { ttlMs: LEASE_MS });
  const add = (id: string): Promise<unknown> => backend.conversations.append(tenant, 'c', [message(id)]);
  const save = async (id: string, holder: Pick<OpenedConversation, 'version' | 'fence'> = lease): Promise<void> =>
    backend.responses.save(tenant, recordOf(id, partsIn('c', holder)));
  /** A turn that is saved as a whole or not at all, in the foreground and in the background. */
  const expectRefused = async (error: new (name: string) => Error, holder = lease): Promise<void> => {
    const before = await backend.conversations.read(tenant, 'c');
    await expect(save('late', holder)).rejects.toBeInstanceOf(error);
    const id = `bg-${(runs += 1)}`;
    const run = await launch(backend, tenant, id, { conversationId: 'c' });
    const ending = endingOf(id, { ...partsIn('c', holder), at: 3 });
    await expect(backend.responses.finish(run, ending)).rejects.toBeInstanceOf(error);
    expect(await backend.responses.get(tenant, 'late')).toBeUndefined();
    expect((await backend.responses.get(tenant, id))?.status).toBe('in_progress');
    expect(await backend.conversations.read(tenant, 'c')).toEqual(before);
  };

  it('exclude each other, under a lock that is named after the conversation', async () => {
    expect(await tryOpen()).toEqual({ refused: 'locked' });
    expect(await backend.locks.tryAcquire(tenant, conversationLock('c'), LEASE_MS)).toBeUndefined();
    await lease.release();
    const next = await openConversation(backend, tenant, 'c');
    expect(next.fence).toBeGreaterThan(lease.fence);
    expect(await next.renew()).toBe(true);
    expect(await lease.renew()).toBe(false);
  });

  it('exclude changes by clients until they have ended', async () => {
    expect(await add('b')).toEqual({ refused: 'locked' });
    expect(await backend.conversations.deleteItem(tenant, 'c', 'a')).toEqual({ refused: 'locked' });
    await save('r');
    await lease.release();
    expect(await add('b')).toBeUndefined();
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', ...contextFrom('r'), 'b']);
  });

  it('release the lock with their save, but not with one that is refused', async () => {
    await expect(save('late', { ...lease, version: lease.version + 1 })).rejects.toBeInstanceOf(
      ConversationChangedError,
    );
    expect(await tryOpen()).toEqual({ refused: 'locked' });
    await save('r');
    expect(await lease.renew()).toBe(false);
    const next = await openConversation(backend, tenant, 'c');
    // The release of a lease that is over does nothing to the next one.
    await lease.release();
    expect(await next.renew()).toBe(true);
  });

  it('leave the lock free after a change by a client', async () => {
    await lease.release();
    await add('b');
    await backend.conversations.deleteItem(tenant, 'c', 'a');
    expect(idsOf(await openConversation(backend, tenant, 'c'))).toEqual(['b']);
  });

  it('are saved when the lease has expired but nobody else wrote', async () => {
    await opened.expireLeases();
    await save('r');
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', ...contextFrom('r')]);
  });

  it('are refused once another turn has begun', async () => {
    await opened.expireLeases();
    const next = await openConversation(backend, tenant, 'c');
    await expectRefused(WriteLockLostError);
    await save('next', next);
    await expectRefused(WriteLockLostError);
    await next.release();
    await expectRefused(WriteLockLostError);
  });

  it.each([
    ['has added something', () => add('b')],
    ['has deleted something', () => backend.conversations.deleteItem(tenant, 'c', 'a')],
  ])('are refused, and lose their lease, once a client %s after it had expired', async (_, change) => {
    await opened.expireLeases();
    await change();
    expect(await lease.renew()).toBe(false);
    await expectRefused(WriteLockLostError);
  });

  it('are refused when the version is not the one that they have read', async () => {
    await expectRefused(ConversationChangedError, { ...lease, version: lease.version - 1 });
    await expectRefused(ConversationChangedError, { ...lease, version: lease.version + 1 });
  });

  it('are refused once the conversation is deleted', async () => {
    await backend.conversations.delete(tenant, 'c');
    const late = save('late');
    await expect(late).rejects.toBeInstanceOf(ConversationChangedError);
    await expect(late).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await backend.responses.get(tenant, 'late')).toBeUndefined();
  });

  it('are refused under the lease of another conversation, or of a session of that name', async () => {
    await createConversation(backend, tenant, 'other');
    const other = await openConversation(backend, tenant, 'other');
    await expectRefused(WriteLockLostError, { ...lease, fence: other.fence });
    const session = await backend.locks.tryAcquire(tenant, 'c', LEASE_MS);
    await expectRefused(WriteLockLostError, { ...lease, fence: session?.fence ?? 0 });
  });

  it('are saved once, whatever is repeated', async () => {
    await save('r');
    await save('r');
    await lease.release();
    await turnIn(backend, tenant, 'c', 'next');
    await save('r');
    expect(await seenIn(backend, tenant, 'c')).toEqual(['a', ...contextFrom('r', 'next')]);
  });

  it('are all there, whole and in order, when many want to write at once', async () => {
    await lease.release();
    const ids = Array.from({ length: 20 }, (_, index) => `r${index}`);
    const added = Array.from({ length: 20 }, (_, index) => `added-${index}`);
    await Promise.all([
      ...ids.map((id) => turnWhenFree(backend, tenant, 'c', id)),
      ...added.map(async (id) => {
        while ((await add(id)) !== undefined) await new Promise(setImmediate);
      }),
    ]);
    const seen = (await seenIn(backend, tenant, 'c')) ?? [];
    expect([...seen].sort()).toEqual(['a', ...added, ...contextFrom(...ids)].sort());
    for (const id of ids) expect(seen[seen.indexOf(`${id}-in`) + 1]).toBe(`${id}-out`);
    for (const id of ids) {
      const context = await backend.responses.chain(tenant, id);
      expect(context?.items.map((item) => item.id)).toEqual(seen.slice(0, seen.indexOf(`${id}-out`) + 1));
    }
  });
});
