import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { ResponseStore } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { append, message, recordOf, START } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Items are found by their ids. */
export const STORED_ITEMS = part('responses', 'stored items', ({ share, it }) => {
  let opened: TestedState;
  let store: ResponseStore;
  let tenant: Tenant;

  share((state, newcomer) => {
    [opened, store, tenant] = [state, state.backend.responses, newcomer];
  });

  const found = async (...ids: readonly string[]): Promise<readonly string[]> =>
    [...(await store.items(tenant, ids)).keys()].sort();
  /** Saves a response that brings an item of a given id, with its own name as the text. */
  const bring = async (id: string, itemId: string, sessionId = id): Promise<unknown> =>
    store.save(tenant, recordOf(id, { input: [message(itemId, id)], sessionId }));
  const whoBrought = async (itemId: string, within?: string): Promise<unknown> =>
    (await store.items(tenant, [itemId], within)).get(itemId);

  it('stored items are found by id, those that requests brought and those that were made', async () => {
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a', status: 'failed' });
    requireAlike(await found('a-in', 'a-out', 'b-in', 'b-out'), ['a-in', 'a-out', 'b-in', 'b-out']);
  });

  it('stored items are left out where there are none', async () => {
    await append(store, tenant, 'a');
    requireAlike(await found('nothing', 'a-out', 'a', '', 'A-OUT'), ['a-out']);
    requireAlike(await found(), []);
  });

  it('stored items are given once, however often they are asked for', async () => {
    await append(store, tenant, 'a');
    requireAlike(await found('a-in', 'a-in', 'a-in'), ['a-in']);
  });

  it('stored items are found by the thousand', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `item-${index}`);
    await store.save(tenant, recordOf('a', { input: ids.map((id) => message(id)) }));
    requireAlike(await found(...ids), [...ids].sort());
  });

  it('items found by id are the latest of their id', async () => {
    for (const id of ['r1', 'r2', 'r3']) await bring(id, 'same');
    requireAlike(await whoBrought('same'), message('same', 'r3'));
  });

  it('items found by id are an earlier one of their id once the latest is deleted', async () => {
    for (const id of ['r1', 'r2', 'r3']) await bring(id, 'same');
    await store.delete(tenant, 'r3', { cascade: false });
    requireAlike(await whoBrought('same'), message('same', 'r2'));
    await store.delete(tenant, 'r1', { cascade: false });
    requireAlike(await whoBrought('same'), message('same', 'r2'));
    await store.delete(tenant, 'r2', { cascade: false });
    assert.equal(await whoBrought('same'), undefined);
  });

  it('items found by id are an earlier one of their id once the latest has expired', async () => {
    await bring('r1', 'same');
    await store.save(tenant, recordOf('r2', { input: [message('same', 'r2')], expiresAt: START + 1000 }));
    requireAlike(await whoBrought('same'), message('same', 'r2'));
    opened.clock.advance(1000);
    requireAlike(await whoBrought('same'), message('same', 'r1'));
  });

  it('items found by id are the latest of their id within a session', async () => {
    await bring('r1', 'same', 'one');
    await bring('r2', 'same', 'one');
    await bring('r3', 'same', 'two');
    requireAlike(await whoBrought('same', 'one'), message('same', 'r2'));
    requireAlike(await whoBrought('same', 'two'), message('same', 'r3'));
    assert.equal(await whoBrought('same', 'three'), undefined);
  });

  it('stored items are gone with their response, also when descendants still see them', async () => {
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    await store.delete(tenant, 'a', { cascade: false });
    requireAlike(await found('a-in', 'a-out', 'b-in', 'b-out'), ['b-in', 'b-out']);
  });
});
