import { beforeEach, describe, expect, it } from '@jest/globals';

import {
  append,
  contextFrom,
  contextOf,
  createConversation,
  message,
  newTenant,
  seenIn,
  turnIn,
} from '../../testing/state/index.js';
import { FakeClock } from '../../testing/index.js';
import { StoreUnavailableError } from '../errors.js';
import { MemoryBackend } from './backend.js';
import { MemoryConversationStore } from './conversations.js';
import type { MemoryState } from './state.js';

const MEGABYTE = 1024 * 1024;
/** A text that takes a quarter of the memory limit. */
const QUARTER = 'x'.repeat(MEGABYTE / 8);

describe(MemoryConversationStore.name, () => {
  const tenant = newTenant();
  let backend: MemoryBackend;
  beforeEach(() => {
    backend = new MemoryBackend({ MEMORY_MAX_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: 5 }, new FakeClock());
  });

  const stateOf = (): MemoryState => (backend.responses as unknown as { readonly state: MemoryState }).state;
  const found = async (...ids: readonly string[]): Promise<readonly string[]> => {
    const records = await Promise.all(ids.map((id) => backend.conversations.get(tenant, id)));
    return records.flatMap((record) => record?.id ?? []);
  };
  const add = (id: string, itemId: string, text?: string): Promise<unknown> =>
    backend.conversations.append(tenant, id, [message(itemId, text)]);

  it('the memory drops what was written longest ago beyond the number, responses and conversations alike', async () => {
    await createConversation(backend, tenant, 'a');
    await createConversation(backend, tenant, 'b');
    await append(backend.responses, tenant, '1');
    await append(backend.responses, tenant, '2');
    await add('a', 'new');
    await append(backend.responses, tenant, '3');
    await append(backend.responses, tenant, '4');
    expect(await found('a', 'b')).toEqual(['a']);
    expect(await backend.responses.get(tenant, '1')).toBeDefined();
    await append(backend.responses, tenant, '5');
    expect(await found('a')).toEqual(['a']);
    expect(await backend.responses.get(tenant, '1')).toBeUndefined();
  });

  it('the memory loses an item of very many', async () => {
    const large = new MemoryBackend({ MEMORY_MAX_BYTES: 1024 * MEGABYTE, MEMORY_MAX_RESPONSES: 5 }, new FakeClock());
    await createConversation(large, tenant, 'a');
    const items = Array.from({ length: 200_000 }, (_, index) => message(`item-${index}`));
    await large.conversations.append(tenant, 'a', items);
    expect(await large.conversations.deleteItem(tenant, 'a', 'item-1000')).toMatchObject({ id: 'a' });
    expect(await large.conversations.item(tenant, 'a', 'item-1000')).toEqual({ refused: 'item_not_found' });
    expect((await large.conversations.read(tenant, 'a'))?.items).toHaveLength(199_999);
  });

  it('the memory drops what was written longest ago beyond the bytes', async () => {
    for (const id of ['a', 'b', 'c']) {
      await createConversation(backend, tenant, id);
      await add(id, `${id}-1`, QUARTER);
    }
    expect(await found('a', 'b', 'c')).toEqual(['a', 'b', 'c']);
    await add('a', 'a-2', QUARTER);
    expect(await found('a', 'b', 'c')).toEqual(['a', 'c']);
    await append(backend.responses, tenant, '1', { input: [message('in', QUARTER)] });
    expect(await found('a', 'c')).toEqual(['a']);
  });

  it('the memory refuses what would not fit alone, and keeps what there is', async () => {
    await createConversation(backend, tenant, 'a', 'first');
    await append(backend.responses, tenant, '1');
    const large = QUARTER.repeat(5);
    await expect(add('a', 'large', large)).rejects.toBeInstanceOf(StoreUnavailableError);
    const record = { id: 'b', createdAt: 1, metadata: {} };
    const creation = backend.conversations.create(tenant, record, [message('large', large)]);
    await expect(creation).rejects.toBeInstanceOf(StoreUnavailableError);
    const turn = turnIn(backend, tenant, 'a', 'r', { input: [message('large', large)] });
    await expect(turn).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await found('a', 'b')).toEqual(['a']);
    expect(await seenIn(backend, tenant, 'a')).toEqual(['first']);
    expect(await backend.responses.get(tenant, '1')).toBeDefined();
  });

  it('the memory does not drop the conversation of a turn that is saved', async () => {
    await createConversation(backend, tenant, 'a', 'first');
    for (const id of ['1', '2', '3', '4']) await append(backend.responses, tenant, id);
    await turnIn(backend, tenant, 'a', 'r');
    expect(await seenIn(backend, tenant, 'a')).toEqual(['first', ...contextFrom('r')]);
  });

  it('the memory keeps what responses need of a conversation that was dropped', async () => {
    await createConversation(backend, tenant, 'a', 'first');
    await turnIn(backend, tenant, 'a', 'r');
    for (const id of ['1', '2', '3']) await append(backend.responses, tenant, id, { parentId: 'r' });
    await append(backend.responses, tenant, '4');
    await append(backend.responses, tenant, '5');
    expect(await found('a')).toEqual([]);
    expect(await contextOf(backend.responses, tenant, '3')).toEqual(['first', ...contextFrom('r', '3')]);
    for (const id of ['1', '2', '3', '4', '5']) await backend.responses.delete(tenant, id, { cascade: false });
    expect(stateOf().bytes).toBe(0);
  });

  it('the memory appends at the cost of the new items, and lists at the cost of a page', async () => {
    const ids = Array.from({ length: 10_000 }, (_, index) => `item-${index}`);
    const large = new MemoryBackend({ MEMORY_MAX_BYTES: 256 * MEGABYTE, MEMORY_MAX_RESPONSES: 10 }, new FakeClock());
    await createConversation(large, tenant, 'long', ...ids);
    const conversation = (large.responses as unknown as { readonly state: MemoryState }).state.conversations.find(
      tenant,
      'long',
    ) as unknown as { readonly entries: unknown[] };
    let reads = 0;
    const entries = conversation.entries;
    Object.assign(conversation, {
      entries: new Proxy(entries, {
        get: (target, name) => {
          if (typeof name === 'string' && /^\d+$/.test(name)) reads += 1;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
        },
      }),
    });
    await large.conversations.append(tenant, 'long', [message('new')]);
    expect(reads).toBe(0);
    const page = await large.conversations.items(tenant, 'long', { limit: 20, order: 'desc', after: 'item-5000' });
    expect(page?.data[0]?.id).toBe('item-4999');
    expect(reads).toBeLessThan(50);
  });
});
