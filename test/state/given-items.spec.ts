import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, message, newTenant, purge, type RecordParts, recordOf } from './records.js';

const PAGE = { limit: 100, order: 'asc' } as const;

/** Three passes: the model wrote twice, was given something, wrote once more, and was given something twice. */
const PASSES: RecordParts = {
  output: ['out-1', 'out-2', 'out-3'].map((id) => message(id)),
  given: [
    { after: 2, items: [message('given-1'), message('given-2')] },
    { after: 3, items: [message('given-3')] },
    { after: 3, items: [message('given-4')] },
  ],
};
const GIVEN = ['given-1', 'given-2', 'given-3', 'given-4'];
const CONVERSATION = ['a-in', 'out-1', 'out-2', 'given-1', 'given-2', 'out-3', 'given-3', 'given-4'];

describe.each(BACKENDS)('items that a turn was given, in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let store: ResponseStore;

  beforeEach(async () => {
    opened = await open();
    store = opened.backend.responses;
  });
  afterEach(() => opened.close());

  const remove = (id: string): Promise<number> => store.delete(tenant, id, { cascade: false });

  it('are in the conversation between the outputs', async () => {
    const { input, given, response } = await append(store, tenant, 'a', PASSES);
    const [first, ...others] = given.map(({ items }) => items);
    const output = response.output;
    expect((await store.chain(tenant, 'a'))?.items).toEqual([
      ...[...input, ...output.slice(0, 2)],
      ...[...(first ?? []), ...output.slice(2), ...others.flat()],
    ]);
    expect(await contextOf(store, tenant, 'a')).toEqual(CONVERSATION);
  });

  it.each([
    [0, ['b-in', 'given', 'out-1', 'out-2']],
    [1, ['b-in', 'out-1', 'given', 'out-2']],
    [2, ['b-in', 'out-1', 'out-2', 'given']],
    [9, ['b-in', 'out-1', 'out-2', 'given']],
  ])('come after as many outputs as they say: %d', async (after, expected) => {
    const output = ['out-1', 'out-2'].map((id) => message(id));
    await append(store, tenant, 'b', { output, given: [{ after, items: [message('given')] }] });
    expect(await contextOf(store, tenant, 'b')).toEqual(expected);
  });

  it('are there where nothing else is', async () => {
    await append(store, tenant, 'b', { input: [], output: [], given: [{ after: 0, items: [message('given')] }] });
    expect(await contextOf(store, tenant, 'b')).toEqual(['given']);
  });

  it('are seen by what continues the response', async () => {
    await append(store, tenant, 'root');
    await append(store, tenant, 'a', { parentId: 'root', ...PASSES });
    await append(store, tenant, 'child', { parentId: 'a' });
    expect(await contextOf(store, tenant, 'child')).toEqual([
      ...contextFrom('root'),
      ...CONVERSATION,
      ...contextFrom('child'),
    ]);
  });

  it('are not shown with the response', async () => {
    const { input, response } = await append(store, tenant, 'a', PASSES);
    const { graph } = opened.backend;
    expect(await store.get(tenant, 'a')).toEqual(response);
    expect(await store.inputItems(tenant, 'a', PAGE)).toEqual({ data: input, hasMore: false });
    expect([...(await store.items(tenant, [...CONVERSATION])).keys()].sort()).toEqual([
      'a-in',
      'out-1',
      'out-2',
      'out-3',
    ]);
    expect(await graph.list(tenant, {}, PAGE)).toEqual({ data: [response], hasMore: false });
    expect(await graph.tree(tenant, 'a', { depth: 1, limit: 1 })).toMatchObject({ response });
    await expect(store.inputItems(tenant, 'a', { ...PAGE, after: 'given-1' })).rejects.toThrow('no such cursor');
  });

  it('are found by their id where another response shows them', async () => {
    await append(store, tenant, 'a', { input: [message('given-1', 'shown')] });
    await append(store, tenant, 'b', { ...PASSES, input: [message('b-in')] });
    expect(await store.items(tenant, GIVEN)).toEqual(new Map([['given-1', message('given-1', 'shown')]]));
    await remove('a');
    expect(await store.items(tenant, GIVEN)).toEqual(new Map());
  });

  it('are left to descendants when the response is deleted, and freed with the last of them', async () => {
    await append(store, tenant, 'a', PASSES);
    await append(store, tenant, 'child', { parentId: 'a' });
    await remove('a');
    expect(await contextOf(store, tenant, 'child')).toEqual([...CONVERSATION, ...contextFrom('child')]);
    await remove('child');
    expect(await opened.content()).toBe(0);
  });

  it('are passed on to a child that is saved when the response is gone', async () => {
    await append(store, tenant, 'a', PASSES);
    const inherited = (await store.chain(tenant, 'a'))?.items ?? [];
    await remove('a');
    const given = [{ after: 0, items: [message('given-to-child')] }];
    await store.save(tenant, recordOf('child', { parentId: 'a', inherited, given }));
    expect(await contextOf(store, tenant, 'child')).toEqual([
      ...[...CONVERSATION, 'child-in'],
      ...['given-to-child', 'child-out'],
    ]);
    expect(await store.items(tenant, [...GIVEN, 'given-to-child'])).toEqual(new Map());
  });

  it('are purged with the response', async () => {
    await append(store, tenant, 'a', { ...PASSES, expiresAt: opened.clock.now() + 1000 });
    opened.clock.advance(1000);
    await purge(store);
    expect(await opened.content()).toBe(0);
  });
});
