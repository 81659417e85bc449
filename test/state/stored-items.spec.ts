import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, message, newTenant, recordOf, START } from './records.js';

describe.each(BACKENDS)('stored items in $name', ({ open }) => {
  let opened: OpenedBackend;
  let store: ResponseStore;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    store = opened.backend.responses;
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  const found = async (...ids: readonly string[]): Promise<readonly string[]> =>
    [...(await store.items(tenant, ids)).keys()].sort();
  /** Saves a response that brings an item of a given id, with its own name as the text. */
  const bring = async (id: string, itemId: string, sessionId = id): Promise<unknown> =>
    store.save(tenant, recordOf(id, { input: [message(itemId, id)], sessionId }));
  const whoBrought = async (itemId: string, within?: string): Promise<unknown> =>
    (await store.items(tenant, [itemId], within)).get(itemId);

  it('are found by id, those that requests brought and those that were made', async () => {
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a', status: 'failed' });
    expect(await found('a-in', 'a-out', 'b-in', 'b-out')).toEqual(['a-in', 'a-out', 'b-in', 'b-out']);
  });

  it('are left out where there are none', async () => {
    await append(store, tenant, 'a');
    expect(await found('nothing', 'a-out', 'a', '', 'A-OUT')).toEqual(['a-out']);
    expect(await found()).toEqual([]);
  });

  it('are given once, however often they are asked for', async () => {
    await append(store, tenant, 'a');
    expect(await found('a-in', 'a-in', 'a-in')).toEqual(['a-in']);
  });

  it('are found by the thousand', async () => {
    const ids = Array.from({ length: 1000 }, (_, index) => `item-${index}`);
    await store.save(tenant, recordOf('a', { input: ids.map((id) => message(id)) }));
    expect(await found(...ids)).toEqual([...ids].sort());
  });

  it('are the latest of their id', async () => {
    for (const id of ['r1', 'r2', 'r3']) await bring(id, 'same');
    expect(await whoBrought('same')).toEqual(message('same', 'r3'));
  });

  it('are an earlier one of their id once the latest is deleted', async () => {
    for (const id of ['r1', 'r2', 'r3']) await bring(id, 'same');
    await store.delete(tenant, 'r3', { cascade: false });
    expect(await whoBrought('same')).toEqual(message('same', 'r2'));
    await store.delete(tenant, 'r1', { cascade: false });
    expect(await whoBrought('same')).toEqual(message('same', 'r2'));
    await store.delete(tenant, 'r2', { cascade: false });
    expect(await whoBrought('same')).toBeUndefined();
  });

  it('are an earlier one of their id once the latest has expired', async () => {
    await bring('r1', 'same');
    await store.save(tenant, recordOf('r2', { input: [message('same', 'r2')], expiresAt: START + 1000 }));
    expect(await whoBrought('same')).toEqual(message('same', 'r2'));
    opened.clock.advance(1000);
    expect(await whoBrought('same')).toEqual(message('same', 'r1'));
  });

  it('are the latest of their id within a session', async () => {
    await bring('r1', 'same', 'one');
    await bring('r2', 'same', 'one');
    await bring('r3', 'same', 'two');
    expect(await whoBrought('same', 'one')).toEqual(message('same', 'r2'));
    expect(await whoBrought('same', 'two')).toEqual(message('same', 'r3'));
    expect(await whoBrought('same', 'three')).toBeUndefined();
  });

  it('are gone with their response, also when descendants still see them', async () => {
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    await store.delete(tenant, 'a', { cascade: false });
    expect(await found('a-in', 'a-out', 'b-in', 'b-out')).toEqual(['b-in', 'b-out']);
  });
});
