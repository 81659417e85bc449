import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import {
  ConversationChangedError,
  conversationLock,
  type OpenedConversation,
  type StateBackend,
  StoreUnavailableError,
  WriteLockLostError,
} from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import {
  createConversation,
  idsOf,
  openConversation,
  partsIn,
  seenIn,
  turnIn,
  turnWhenFree,
} from '../conversations.js';
import { part } from '../part.js';
import { LEASE_MS, contextFrom, message, recordOf } from '../records.js';
import { endingOf, launch } from '../runs.js';
import type { TestedState } from '../tested-state.js';

/** Only the turn that has a conversation writes to it, and only to the version that it has read. */
export const CONVERSATION_FENCING = part('conversations', 'turns of a conversation', ({ share, it }) => {
  let opened: TestedState;
  let backend: StateBackend;
  let tenant: Tenant;
  let lease: OpenedConversation;
  let runs = 0;

  share(async (state, newcomer) => {
    [opened, backend, tenant] = [state, state.backend, newcomer];
    await createConversation(backend, tenant, 'c', 'a');
    lease = await openConversation(backend, tenant, 'c');
  });

  const tryOpen = (): Promise<unknown> => backend.conversations.open(tenant, 'c', { ttlMs: LEASE_MS });
  const add = (id: string): Promise<unknown> => backend.conversations.append(tenant, 'c', [message(id)]);
  const save = async (id: string, holder: Pick<OpenedConversation, 'version' | 'fence'> = lease): Promise<void> =>
    backend.responses.save(tenant, recordOf(id, partsIn('c', holder)));
  /** A turn that is saved as a whole or not at all, in the foreground and in the background. */
  const expectRefused = async (error: new (name: string) => Error, holder = lease): Promise<void> => {
    const before = await backend.conversations.read(tenant, 'c');
    await assert.rejects(save('late', holder), error);
    const id = `bg-${(runs += 1)}`;
    const run = await launch(backend, tenant, id, { conversationId: 'c' });
    const ending = endingOf(id, { ...partsIn('c', holder), at: 3 });
    await assert.rejects(backend.runs.finish(run, ending), error);
    assert.equal(await backend.responses.get(tenant, 'late'), undefined);
    assert.equal((await backend.responses.get(tenant, id))?.status, 'in_progress');
    requireAlike(await backend.conversations.read(tenant, 'c'), before);
  };

  it('turns in a conversation exclude each other, under a lock that is named after the conversation', async () => {
    requireAlike(await tryOpen(), { refused: 'locked' });
    assert.equal(await backend.locks.tryAcquire(tenant, conversationLock('c'), LEASE_MS), undefined);
    await lease.release();
    const next = await openConversation(backend, tenant, 'c');
    assert.ok(next.fence > lease.fence);
    assert.equal(await next.renew(), true);
    assert.equal(await lease.renew(), false);
  });

  it('turns in a conversation exclude changes by clients until they have ended', async () => {
    requireAlike(await add('b'), { refused: 'locked' });
    requireAlike(await backend.conversations.deleteItem(tenant, 'c', 'a'), { refused: 'locked' });
    await save('r');
    await lease.release();
    assert.equal(await add('b'), undefined);
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', ...contextFrom('r'), 'b']);
  });

  it('turns in a conversation release the lock with their save, but not with one that is refused', async () => {
    await assert.rejects(save('late', { ...lease, version: lease.version + 1 }), ConversationChangedError);
    requireAlike(await tryOpen(), { refused: 'locked' });
    await save('r');
    assert.equal(await lease.renew(), false);
    const next = await openConversation(backend, tenant, 'c');
    // The release of a lease that is over does nothing to the next one.
    await lease.release();
    assert.equal(await next.renew(), true);
  });

  it('turns leave the lock of a conversation free after a change by a client', async () => {
    await lease.release();
    await add('b');
    await backend.conversations.deleteItem(tenant, 'c', 'a');
    requireAlike(idsOf(await openConversation(backend, tenant, 'c')), ['b']);
  });

  it('turns in a conversation are saved when the lease has expired but nobody else wrote', async () => {
    await opened.expireLeases();
    await save('r');
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', ...contextFrom('r')]);
  });

  it('turns in a conversation are refused once another turn has begun', async () => {
    await opened.expireLeases();
    const next = await openConversation(backend, tenant, 'c');
    await expectRefused(WriteLockLostError);
    await save('next', next);
    await expectRefused(WriteLockLostError);
    await next.release();
    await expectRefused(WriteLockLostError);
  });

  for (const [title, change] of [
    ['has added something', () => add('b')],
    ['has deleted something', () => backend.conversations.deleteItem(tenant, 'c', 'a')],
  ] as const) {
    it(`turns in a conversation are refused, and lose their lease, once a client ${title} after it had expired`, async () => {
      await opened.expireLeases();
      await change();
      assert.equal(await lease.renew(), false);
      await expectRefused(WriteLockLostError);
    });
  }

  it('turns in a conversation are refused when the version is not the one that they have read', async () => {
    await expectRefused(ConversationChangedError, { ...lease, version: lease.version - 1 });
    await expectRefused(ConversationChangedError, { ...lease, version: lease.version + 1 });
  });

  it('turns in a conversation are refused once the conversation is deleted', async () => {
    await backend.conversations.delete(tenant, 'c');
    const late = save('late');
    await assert.rejects(late, ConversationChangedError);
    await assert.rejects(late, StoreUnavailableError);
    assert.equal(await backend.responses.get(tenant, 'late'), undefined);
  });

  it('turns in a conversation are refused under the lease of another conversation, or of a session of that name', async () => {
    await createConversation(backend, tenant, 'other');
    const other = await openConversation(backend, tenant, 'other');
    await expectRefused(WriteLockLostError, { ...lease, fence: other.fence });
    const session = await backend.locks.tryAcquire(tenant, 'c', LEASE_MS);
    await expectRefused(WriteLockLostError, { ...lease, fence: session?.fence ?? 0 });
  });

  it('turns in a conversation are saved once, whatever is repeated', async () => {
    await save('r');
    await save('r');
    await lease.release();
    await turnIn(backend, tenant, 'c', 'next');
    await save('r');
    requireAlike(await seenIn(backend, tenant, 'c'), ['a', ...contextFrom('r', 'next')]);
  });

  it('turns are all there, whole and in order, when many want to write to a conversation at once', async () => {
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
    requireAlike([...seen].sort(), ['a', ...added, ...contextFrom(...ids)].sort());
    for (const id of ids) assert.equal(seen[seen.indexOf(`${id}-in`) + 1], `${id}-out`);
    for (const id of ids) {
      const context = await backend.responses.chain(tenant, id);
      requireAlike(
        context?.items.map((item) => item.id),
        seen.slice(0, seen.indexOf(`${id}-out`) + 1),
      );
    }
  });
});
