import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { ResponseGraph, ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, newTenant } from './records.js';

const PAGE = { limit: 10, order: 'asc' } as const;

describe.each(BACKENDS)('lookups within a session in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let store: ResponseStore;
  let graph: ResponseGraph;

  /** `a` and `b` are in `one`, and by a fork in `shared`; `c` goes on in `two`, `d` in `shared`. */
  beforeAll(async () => {
    opened = await open();
    ({ responses: store, graph } = opened.backend);
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'one', targetId: 'shared' });
    await append(store, tenant, 'c', { parentId: 'b', sessionId: 'two' });
    await append(store, tenant, 'd', { parentId: 'b', sessionId: 'shared' });
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
    expect(await found(store.get(tenant, id, session))).toBe(isMember);
    expect(await found(store.chain(tenant, id, session))).toBe(isMember);
    expect(await found(store.inputItems(tenant, id, PAGE, session))).toBe(isMember);
    expect((await store.items(tenant, [`${id}-in`, `${id}-out`], session)).size).toBe(isMember ? 2 : 0);
    expect(await found(graph.children(tenant, id, PAGE, session))).toBe(isMember);
    expect(await found(graph.siblings(tenant, id, PAGE, session))).toBe(isMember);
    expect(await found(graph.leaves(tenant, id, PAGE, session))).toBe(isMember);
    expect(await found(graph.tree(tenant, id, { depth: 1, limit: 10 }, session))).toBe(isMember);
    expect((await graph.list(tenant, { sessionId: session }, PAGE)).data.some((one) => one.id === id)).toBe(isMember);
  });

  it.each(cases.filter(({ isMember }) => !isMember))('delete no $id in $session', async ({ session, id }) => {
    expect(await store.delete(tenant, id, { cascade: false }, session)).toBe(0);
    expect(await store.delete(tenant, id, { cascade: true }, session)).toBe(0);
    expect(await store.get(tenant, id)).toBeDefined();
  });

  it('give the whole conversation, also what is of another session', async () => {
    const chain = await store.chain(tenant, 'c', 'two');
    expect(chain?.items.map(({ id }) => id)).toEqual(contextFrom('a', 'b', 'c'));
  });

  it('say in which session a response was made, not through which it was found', async () => {
    expect((await store.chain(tenant, 'b', 'shared'))?.sessionId).toBe('one');
  });

  it('see no relatives outside of it', async () => {
    const idsOf = async (page: ReturnType<ResponseGraph['children']>): Promise<unknown> =>
      (await page)?.data.map(({ id }) => id);
    expect(await idsOf(graph.children(tenant, 'b', PAGE))).toEqual(['c', 'd']);
    expect(await idsOf(graph.children(tenant, 'b', PAGE, 'shared'))).toEqual(['d']);
    expect(await idsOf(graph.children(tenant, 'b', PAGE, 'one'))).toEqual([]);
    expect(await idsOf(graph.siblings(tenant, 'd', PAGE))).toEqual(['c']);
    expect(await idsOf(graph.siblings(tenant, 'd', PAGE, 'shared'))).toEqual([]);
    expect(await idsOf(graph.siblings(tenant, 'c', PAGE, 'two'))).toEqual([]);
    expect(await idsOf(graph.leaves(tenant, 'a', PAGE))).toEqual(['c', 'd']);
    expect(await idsOf(graph.leaves(tenant, 'a', PAGE, 'shared'))).toEqual(['d']);
    expect(await idsOf(graph.leaves(tenant, 'a', PAGE, 'one'))).toEqual(['b']);
  });

  it('take what is outside of it for the end of the tree', async () => {
    const tree = await graph.tree(tenant, 'c', { depth: 10, limit: 10 }, 'two');
    expect(tree).toMatchObject({ response: { id: 'c' }, children: [], hasMore: false });
    const shared = await graph.tree(tenant, 'd', { depth: 10, limit: 10 }, 'shared');
    expect(shared).toMatchObject({
      response: { id: 'a' },
      children: [{ response: { id: 'b' }, children: [{ response: { id: 'd' } }], hasMore: false }],
    });
  });

  it('delete for all sessions what is in the one that is named, and what continues it there', async () => {
    await append(store, tenant, 'x', { sessionId: 'source' });
    await append(store, tenant, 'y', { parentId: 'x' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'source', targetId: 'fork' });
    await append(store, tenant, 'z', { parentId: 'y', sessionId: 'elsewhere' });
    expect(await store.delete(tenant, 'x', { cascade: true }, 'fork')).toBe(2);
    expect(await store.get(tenant, 'x', 'source')).toBeUndefined();
    expect(await store.get(tenant, 'y')).toBeUndefined();
    expect(await contextOf(store, tenant, 'z')).toEqual(contextFrom('x', 'y', 'z'));
  });
});
