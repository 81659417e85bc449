import { beforeEach, describe, expect, it } from '@jest/globals';

import { asOwner } from '../../access/index.js';
import type { Item, ResponseObject } from '../../protocol/index.js';
import { FakeClock } from '../../testing/index.js';
import type { Chain } from '../response-store.js';
import { MemoryResponseStore } from './memory-response-store.js';

const ALICE = asOwner('alice');
const BOB = asOwner('bob');
const MEGABYTE = 1024 * 1024;

const message = (id: string, text = ''): Item => ({ type: 'message', id, content: [{ type: 'input_text', text }] });

describe(MemoryResponseStore.name, () => {
  let clock: FakeClock;
  let store: MemoryResponseStore;

  const limits = { MEMORY_MAX_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: 5, RESPONSE_TTL: 60 };

  const save = async (id: string, parent: Chain | null = null, text = '', owner = ALICE): Promise<void> => {
    const response = { id, status: 'completed', output: [message(`${id}-out`)] } as unknown as ResponseObject;
    await store.save(owner, {
      response,
      input: [message(`${id}-in`, text)],
      parentId: parent?.responseId ?? null,
      inherited: parent?.items ?? [],
      origin: null,
    });
  };
  const chain = async (id: string, owner = ALICE): Promise<Chain> => {
    const found = await store.chain(owner, id);
    if (found === undefined) throw new Error(`${id} cannot be continued`);
    return found;
  };
  const itemsOf = async (id: string): Promise<string[]> => (await chain(id)).items.map((item) => item.id);
  const found = async (...ids: string[]): Promise<boolean[]> =>
    Promise.all(ids.map(async (id) => (await store.get(ALICE, id)) !== undefined));

  beforeEach(() => {
    clock = new FakeClock();
    store = new MemoryResponseStore(clock, limits);
  });

  it('gives a chain oldest first, with the very items that were saved', async () => {
    await save('a');
    await save('b', await chain('a'));
    expect(await itemsOf('b')).toEqual(['a-in', 'a-out', 'b-in', 'b-out']);
    const [first] = (await chain('a')).items;
    expect((await chain('b')).items[0]).toBe(first);
  });

  it('answers for another owner as for nobody', async () => {
    await save('a');
    await expect(store.get(BOB, 'a')).resolves.toBeUndefined();
    await expect(store.chain(BOB, 'a')).resolves.toBeUndefined();
    await expect(store.inputItems(BOB, 'a', { limit: 1, order: 'asc' })).resolves.toBeUndefined();
    await expect(store.delete(BOB, 'a')).resolves.toBe(false);
    await expect(store.get(ALICE, 'a')).resolves.toBeDefined();
  });

  it('keeps owners apart even when one name continues in the other', async () => {
    await save('b c', null, '', asOwner('a'));
    await expect(store.get(asOwner('a b'), 'c')).resolves.toBeUndefined();
  });

  it('does not continue what failed', async () => {
    const response = { id: 'f', status: 'failed', output: [] } as unknown as ResponseObject;
    await store.save(ALICE, { response, input: [], parentId: null, inherited: [], origin: null });
    expect(await found('f')).toEqual([true]);
    await expect(store.chain(ALICE, 'f')).resolves.toBeUndefined();
  });

  it('forgets what was deleted, but not as context of its descendants', async () => {
    await save('a');
    await save('b', await chain('a'));
    await expect(store.delete(ALICE, 'a')).resolves.toBe(true);
    await expect(store.delete(ALICE, 'a')).resolves.toBe(false);
    expect(await found('a', 'b')).toEqual([false, true]);
    expect(await itemsOf('b')).toEqual(['a-in', 'a-out', 'b-in', 'b-out']);
  });

  it('keeps the context of a turn whose parent was deleted while it ran', async () => {
    await save('a');
    const parent = await chain('a');
    await store.delete(ALICE, 'a');
    await save('b', parent);
    expect(await itemsOf('b')).toEqual(['a-in', 'a-out', 'b-in', 'b-out']);
  });

  it('lets responses expire', async () => {
    await save('a');
    clock.advance(59_999);
    expect(await found('a')).toEqual([true]);
    clock.advance(1);
    expect(await found('a')).toEqual([false]);
  });

  it('drops the oldest beyond the number it may hold', async () => {
    for (const id of ['1', '2', '3', '4', '5', '6', '7']) await save(id);
    expect(await found('1', '2', '3', '7')).toEqual([false, false, true, true]);
  });

  it('drops the oldest beyond the bytes it may hold', async () => {
    const text = 'x'.repeat(MEGABYTE / 8);
    for (const id of ['1', '2', '3', '4', '5']) await save(id, null, text);
    expect(await found('1', '2', '3', '4', '5')).toEqual([false, false, true, true, true]);
  });

  it('counts what descendants still need, and frees it with the last of them', async () => {
    const text = 'x'.repeat(MEGABYTE / 8);
    await save('a', null, text);
    await save('b', await chain('a'), text);
    await store.delete(ALICE, 'a');
    await save('c', null, text);
    await save('d', null, text);
    // Four texts do not fit: the oldest left is b, and a goes with it.
    expect(await found('b', 'c', 'd')).toEqual([false, true, true]);
    await save('e', null, text);
    expect(await found('c', 'd', 'e')).toEqual([true, true, true]);
  });

  it('refuses what can never fit', async () => {
    await expect(save('big', null, 'x'.repeat(MEGABYTE))).rejects.toThrow('MEMORY_MAX_BYTES');
  });

  it('pages through the input of one request', async () => {
    const input = ['1', '2', '3'].map((id) => message(id));
    const response = { id: 'p', status: 'completed', output: [] } as unknown as ResponseObject;
    await store.save(ALICE, { response, input, parentId: null, inherited: [], origin: null });
    const page = async (order: 'asc' | 'desc', after?: string): Promise<unknown> => {
      const given = await store.inputItems(ALICE, 'p', { limit: 2, order, ...(after === undefined ? {} : { after }) });
      return [given?.data.map(({ id }) => id), given?.hasMore];
    };
    await expect(page('asc')).resolves.toEqual([['1', '2'], true]);
    await expect(page('asc', '2')).resolves.toEqual([['3'], false]);
    await expect(page('desc')).resolves.toEqual([['3', '2'], true]);
    await expect(page('desc', '1')).resolves.toEqual([[], false]);
    await expect(page('asc', 'nowhere')).rejects.toThrow('nowhere');
  });
});
