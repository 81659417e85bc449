import { describe, expect, it } from '@jest/globals';

import { append, contextFrom, contextOf, message, newTenant, recordOf } from '../../testing/state/index.js';
import { FakeClock } from '../../testing/index.js';
import { UnknownCursorError, WriteLockLostError, StoreUnavailableError } from '../errors.js';
import { MemoryBackend } from './backend.js';
import { MemoryResponseStore } from './responses.js';

const MEGABYTE = 1024 * 1024;
/** A text that takes a quarter of the memory limit: three responses with it fit. */
const QUARTER = 'x'.repeat(MEGABYTE / 8);
const tenant = newTenant();

describe(MemoryResponseStore.name, () => {
  const open = (maxResponses = 5): MemoryResponseStore =>
    new MemoryBackend({ MEMORY_MAX_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: maxResponses }, new FakeClock()).responses;

  const found = async (store: MemoryResponseStore, ...ids: readonly string[]): Promise<readonly string[]> => {
    const responses = await Promise.all(ids.map((id) => store.get(tenant, id)));
    return responses.flatMap((response) => (response === undefined ? [] : [response.id]));
  };
  const large = (id: string): { readonly input: [ReturnType<typeof message>] } => ({
    input: [message(`${id}-in`, QUARTER)],
  });

  it('the memory gives the very items that were saved: transcripts share what they have in common', async () => {
    const store = open();
    const { input, response } = await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    await append(store, tenant, 'c', { parentId: 'a' });
    for (const id of ['b', 'c']) {
      const chain = await store.chain(tenant, id);
      expect(chain?.items[0]).toBe(input[0]);
      expect(chain?.items[1]).toBe(response.output[0]);
    }
  });

  it('the memory does not let those who save wait, and rejects what it refuses', async () => {
    const store = open();
    const calls = [() => store.expectSave(), () => store.save(tenant, recordOf('a'))];
    expect(calls.map((call) => call())).toEqual([undefined, undefined]);
    expect(await found(store, 'a')).toEqual(['a']);
    await expect(store.save(tenant, recordOf('b', { fence: 1 }))).rejects.toBeInstanceOf(WriteLockLostError);
    expect(await found(store, 'b')).toEqual([]);
  });

  it('the memory drops the oldest beyond the number it may hold', async () => {
    const store = open();
    for (const id of ['1', '2', '3', '4', '5', '6', '7']) await append(store, tenant, id);
    expect(await found(store, '1', '2', '3', '4', '5', '6', '7')).toEqual(['3', '4', '5', '6', '7']);
  });

  it('the memory drops the oldest of all tenants', async () => {
    const store = open(2);
    const other = newTenant();
    await append(store, tenant, '1');
    await append(store, other, '2');
    await append(store, other, '3');
    expect(await found(store, '1')).toEqual([]);
    expect(await store.get(other, '2')).toBeDefined();
  });

  it('the memory drops the oldest beyond the bytes it may hold', async () => {
    const store = open(100);
    for (const id of ['1', '2', '3', '4', '5']) await append(store, tenant, id, large(id));
    expect(await found(store, '1', '2', '3', '4', '5')).toEqual(['3', '4', '5']);
  });

  it('the memory takes the word of those who know how large the settings are', async () => {
    const settings = { members: { instructions: QUARTER } };
    const measured = open(100);
    for (const id of ['1', '2', '3', '4', '5']) await append(measured, tenant, id, settings);
    expect(await found(measured, '1', '2', '3', '4', '5')).toEqual(['3', '4', '5']);
    const told = open(100);
    const settingsBytes = MEGABYTE / 2 - 1000;
    for (const id of ['1', '2', '3']) await append(told, tenant, id, { ...settings, settingsBytes });
    expect(await found(told, '1', '2', '3')).toEqual(['2', '3']);
    // What is beside the settings is measured still.
    await append(told, tenant, '4', { settingsBytes: 0, output: [message('4-out', QUARTER)] });
    expect(await found(told, '2', '3', '4')).toEqual(['3', '4']);
  });

  it('the memory counts what turns were given', async () => {
    const store = open(100);
    for (const id of ['1', '2', '3', '4', '5']) {
      await append(store, tenant, id, { given: [{ after: 1, items: [message(`${id}-given`, QUARTER)] }] });
    }
    expect(await found(store, '1', '2', '3', '4', '5')).toEqual(['3', '4', '5']);
  });

  it('the memory makes room in proportion to what comes', async () => {
    const store = open(100);
    for (const id of ['1', '2', '3']) await append(store, tenant, id, large(id));
    await append(store, tenant, 'double', { input: [message('double-in', QUARTER + QUARTER)] });
    expect(await found(store, '1', '2', '3', 'double')).toEqual(['3', 'double']);
  });

  it('the memory keeps what a living transcript needs of the responses it drops', async () => {
    const store = open(2);
    await append(store, tenant, 'a');
    await append(store, tenant, 'b', { parentId: 'a' });
    await append(store, tenant, 'c', { parentId: 'b' });
    expect(await found(store, 'a', 'b', 'c')).toEqual(['b', 'c']);
    expect(await contextOf(store, tenant, 'a')).toBeUndefined();
    expect(await contextOf(store, tenant, 'c')).toEqual(contextFrom('a', 'b', 'c'));
  });

  it('the memory counts what descendants still need, and frees it with the last of them', async () => {
    const store = open(100);
    await append(store, tenant, 'a', large('a'));
    await append(store, tenant, 'b', { parentId: 'a', ...large('b') });
    await store.delete(tenant, 'a', { cascade: false });
    await append(store, tenant, 'c', large('c'));
    await append(store, tenant, 'd', large('d'));
    // Four texts do not fit: the oldest left is b, and a goes with it.
    expect(await found(store, 'b', 'c', 'd')).toEqual(['c', 'd']);
    await append(store, tenant, 'e', large('e'));
    expect(await found(store, 'c', 'd', 'e')).toEqual(['c', 'd', 'e']);
  });

  it('the memory refuses what can never fit, and drops nothing for it', async () => {
    const store = open();
    await append(store, tenant, 'small');
    const big = recordOf('big', { input: [message('big-in', 'x'.repeat(MEGABYTE / 2))] });
    const save = store.save(tenant, big);
    await expect(save).rejects.toThrow('does not fit in MEMORY_MAX_BYTES');
    await expect(save).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await found(store, 'small', 'big')).toEqual(['small']);
  });

  it('the memory forgets where the oldest ones stood when what it remembers of those that are gone takes too much', async () => {
    const { responses, graph } = new MemoryBackend(
      { MEMORY_MAX_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: 10_000 },
      new FakeClock(),
    );
    const metadata = Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`name ${index}`, 'x'.repeat(512)]));
    await append(responses, tenant, 'kept');
    for (let index = 0; index < 1000; index += 1) {
      await append(responses, tenant, `gone-${index}`, { members: { metadata } });
      await responses.delete(tenant, `gone-${index}`, { cascade: false });
    }
    const after = (id: string): Promise<unknown> =>
      graph.list(tenant, { metadata }, { limit: 1, order: 'desc', after: id });
    await expect(after('gone-999')).resolves.toMatchObject({ data: [] });
    await expect(after('gone-980')).resolves.toMatchObject({ data: [] });
    await expect(after('gone-0')).rejects.toBeInstanceOf(UnknownCursorError);
    await expect(after('gone-800')).rejects.toBeInstanceOf(UnknownCursorError);
    expect(await found(responses, 'kept')).toEqual(['kept']);
  });

  it('the memory forgets where others stood rather than drop what was written last', async () => {
    const store = open(100);
    for (const id of ['1', '2']) await append(store, tenant, id, large(id));
    await append(store, tenant, 'whole', { settingsBytes: MEGABYTE - 400, input: [], output: [] });
    expect(await found(store, '1', '2', 'whole')).toEqual(['whole']);
  });

  it('the memory counts the further sessions of a response', async () => {
    const limits = { MEMORY_MAX_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: 10_000 };
    const { responses, sessions } = new MemoryBackend(limits, new FakeClock());
    await append(responses, tenant, 'oldest');
    for (const id of ['a', 'b', 'c']) await append(responses, tenant, id, { sessionId: 'source' });
    const fork = (index: number): Promise<unknown> =>
      sessions.fork(tenant, { sourceId: 'source', targetId: `fork ${index}` });
    for (let index = 0; index < 5000; index += 1) await fork(index);
    expect(await found(responses, 'oldest')).toEqual([]);
    // Sessions that are deleted give back what they took.
    const { responses: others, sessions: theirs } = new MemoryBackend(limits, new FakeClock());
    await append(others, tenant, 'oldest');
    for (const id of ['a', 'b', 'c']) await append(others, tenant, id, { sessionId: 'source' });
    for (let index = 0; index < 5000; index += 1) {
      await theirs.fork(tenant, { sourceId: 'source', targetId: `fork ${index}` });
      await theirs.delete(tenant, `fork ${index}`);
    }
    expect(await found(others, 'oldest', 'a', 'b', 'c')).toEqual(['oldest', 'a', 'b', 'c']);
  });
});
