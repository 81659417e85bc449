import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { ResponseGraph, ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, newOwner } from './records.js';

const PAGE = { limit: 10, order: 'asc' } as const;

describe.each(BACKENDS)('lookups within a session in $name', ({ open }) => {
  const owner = newOwner();
  let opened: OpenedBackend;
  let store: ResponseStore;
  let graph: ResponseGraph;

  /** `a` and `b` are in `one`, and by a fork in `shared`; `c` goes on in `two`, `d` in `shared`. */
  beforeAll(async () => {
    opened = await open();
    ({ responses: store, graph } = opened.backend);
    await append(store, owner, 'a', { sessionId: 'one' });
    await append(store, owner, 'b', { parentId: 'a' });
    await opened.backend.sessions.fork(owner, { sourceId: 'one', targetId: 'shared' });
    await append(store, owner, 'c', { parentId: 'b', sessionId: 'two' });
    await append(store, owner, 'd', { parentId: 'b', sessionId: 'shared' });
  });
  afterAll(() => opened.close());

  const MEMBERS: readonly (readonly [session: string, ids: readonly string[]])[] = [
    ['one', ['a', 'b']],
    ['shared', ['a', 'b', 'd']],
    ['two', ['c']],
    ['unheard-of', []],
  ];
  const cases = MEMBERS.flatMap(([session, ids]) =>
    ['a', 'b', 'c', 'd'].map((id) => ({ session, id, isMember: ids.includes(id) })),
  );

  it.each(cases)('find $id in $session: $isMember', async ({ session, id, isMember }) => {
    const found = async (lookup: Promise<unknown>): Promise<boolean> => (await lookup) !== undefined;
    expect(await found(store.get(owner, id, session))).toBe(isMember);
    expect(await found(store.chain(owner, id, session))).toBe(isMember);
    expect(await found(store.inputItems(owner, id, PAGE, session))).toBe(isMember);
    expect((await store.items(owner, [`${id}-in`, `${id}-out`], session)).size).toBe(isMember ? 2 : 0);
    expect(await found(graph.children(owner, id, PAGE, session))).toBe(isMember);
    expect(await found(graph.siblings(owner, id, PAGE, session))).toBe(isMember);
    expect(await found(graph.leaves(owner, id, PAGE, session))).toBe(isMember);
    expect(await found(graph.tree(owner, id, { depth: 1, limit: 10 }, session))).toBe(isMember);
    expect((await graph.list(owner, { sessionId: session }, PAGE)).data.some((one) => one.id === id)).toBe(isMember);
  });

  it.each(cases.filter(({ isMember }) => !isMember))('delete no $id in $session', async ({ session, id }) => {
    expect(await store.delete(owner, id, { cascade: false }, session)).toBe(0);
    expect(await store.delete(owner, id, { cascade: true }, session)).toBe(0);
    expect(await store.get(owner, id)).toBeDefined();
  });

  it('give the whole conversation, also what is of another session', async () => {
    const chain = await store.chain(owner, 'c', 'two');
    expect(chain?.items.map(({ id }) => id)).toEqual(contextFrom('a', 'b', 'c'));
  });

  it('say in which session a response was made, not through which it was found', async () => {
    expect((await store.chain(owner, 'b', 'shared'))?.sessionId).toBe('one');
  });

  it('see no relatives outside of it', async () => {
    const idsOf = async (page: ReturnType<ResponseGraph['children']>): Promise<unknown> =>
      (await page)?.data.map(({ id }) => id);
    expect(await idsOf(graph.children(owner, 'b', PAGE))).toEqual(['c', 'd']);
    expect(await idsOf(graph.children(owner, 'b', PAGE, 'shared'))).toEqual(['d']);
    expect(await idsOf(graph.children(owner, 'b', PAGE, 'one'))).toEqual([]);
    expect(await idsOf(graph.siblings(owner, 'd', PAGE))).toEqual(['c']);
    expect(await idsOf(graph.siblings(owner, 'd', PAGE, 'shared'))).toEqual([]);
    expect(await idsOf(graph.siblings(owner, 'c', PAGE, 'two'))).toEqual([]);
    expect(await idsOf(graph.leaves(owner, 'a', PAGE))).toEqual(['c', 'd']);
    expect(await idsOf(graph.leaves(owner, 'a', PAGE, 'shared'))).toEqual(['d']);
    expect(await idsOf(graph.leaves(owner, 'a', PAGE, 'one'))).toEqual(['b']);
  });

  it('take what is outside of it for the end of the tree', async () => {
    const tree = await graph.tree(owner, 'c', { depth: 10, limit: 10 }, 'two');
    expect(tree).toMatchObject({ response: { id: 'c' }, children: [], hasMore: false });
    const shared = await graph.tree(owner, 'd', { depth: 10, limit: 10 }, 'shared');
    expect(shared).toMatchObject({
      response: { id: 'a' },
      children: [{ response: { id: 'b' }, children: [{ response: { id: 'd' } }], hasMore: false }],
    });
  });

  it('delete for all sessions what is in the one that is named, and what continues it there', async () => {
    await append(store, owner, 'x', { sessionId: 'source' });
    await append(store, owner, 'y', { parentId: 'x' });
    await opened.backend.sessions.fork(owner, { sourceId: 'source', targetId: 'fork' });
    await append(store, owner, 'z', { parentId: 'y', sessionId: 'elsewhere' });
    expect(await store.delete(owner, 'x', { cascade: true }, 'fork')).toBe(2);
    expect(await store.get(owner, 'x', 'source')).toBeUndefined();
    expect(await store.get(owner, 'y')).toBeUndefined();
    expect(await contextOf(store, owner, 'z')).toEqual(contextFrom('x', 'y', 'z'));
  });
});
