import assert from 'node:assert/strict';

import type { ResponseGraph, ResponseStore } from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, newTenant } from '../records.js';
import type { TestedState } from '../tested-state.js';

const PAGE = { limit: 10, order: 'asc' } as const;

/** A lookup within a session finds its members alone. */
export const WITHIN_SESSION = part('graph', 'lookups within a session', ({ openOnce, it }) => {
  const tenant = newTenant();
  let opened: TestedState;
  let store: ResponseStore;
  let graph: ResponseGraph;

  /** `a` and `b` are in `one`, and by a fork in `shared`; `c` goes on in `two`, `d` in `shared`. */
  openOnce(async (state) => {
    opened = state;
    ({ responses: store, graph } = opened.backend);
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'one', targetId: 'shared' });
    await append(store, tenant, 'c', { parentId: 'b', sessionId: 'two' });
    await append(store, tenant, 'd', { parentId: 'b', sessionId: 'shared' });
  });

  const MEMBERS: readonly (readonly [session: string, ids: readonly string[]])[] = [
    ['one', ['a', 'b']],
    ['shared', ['a', 'b', 'd']],
    ['two', ['c']],
    ['unheard-of', []],
  ];
  const cases = MEMBERS.flatMap(([session, ids]) =>
    ['a', 'b', 'c', 'd'].map((id) => ({ session, id, isMember: ids.includes(id) })),
  );

  for (const { session, id, isMember } of cases) {
    it(`lookups within a session find ${id} in ${session}: ${isMember}`, async () => {
      const found = async (lookup: Promise<unknown>): Promise<boolean> => (await lookup) !== undefined;
      assert.equal(await found(store.get(tenant, id, session)), isMember);
      assert.equal(await found(store.chain(tenant, id, session)), isMember);
      assert.equal(await found(store.inputItems(tenant, id, PAGE, session)), isMember);
      assert.equal((await store.items(tenant, [`${id}-in`, `${id}-out`], session)).size, isMember ? 2 : 0);
      assert.equal(await found(graph.children(tenant, id, PAGE, session)), isMember);
      assert.equal(await found(graph.siblings(tenant, id, PAGE, session)), isMember);
      assert.equal(await found(graph.leaves(tenant, id, PAGE, session)), isMember);
      assert.equal(await found(graph.tree(tenant, id, { depth: 1, limit: 10 }, session)), isMember);
      assert.equal(
        (await graph.list(tenant, { sessionId: session }, PAGE)).data.some((one) => one.id === id),
        isMember,
      );
    });
  }

  for (const { session, id } of cases.filter(({ isMember }) => !isMember)) {
    it(`lookups within a session delete no ${id} in ${session}`, async () => {
      assert.equal(await store.delete(tenant, id, { cascade: false }, session), 0);
      assert.equal(await store.delete(tenant, id, { cascade: true }, session), 0);
      assert.notEqual(await store.get(tenant, id), undefined);
    });
  }

  it('lookups within a session give the whole conversation, also what is of another session', async () => {
    const chain = await store.chain(tenant, 'c', 'two');
    requireAlike(
      chain?.items.map(({ id }) => id),
      contextFrom('a', 'b', 'c'),
    );
  });

  it('lookups within a session say in which session a response was made, not through which it was found', async () => {
    assert.equal((await store.chain(tenant, 'b', 'shared'))?.sessionId, 'one');
  });

  it('lookups within a session see no relatives outside of it', async () => {
    const idsOf = async (page: ReturnType<ResponseGraph['children']>): Promise<unknown> =>
      (await page)?.data.map(({ id }) => id);
    requireAlike(await idsOf(graph.children(tenant, 'b', PAGE)), ['c', 'd']);
    requireAlike(await idsOf(graph.children(tenant, 'b', PAGE, 'shared')), ['d']);
    requireAlike(await idsOf(graph.children(tenant, 'b', PAGE, 'one')), []);
    requireAlike(await idsOf(graph.siblings(tenant, 'd', PAGE)), ['c']);
    requireAlike(await idsOf(graph.siblings(tenant, 'd', PAGE, 'shared')), []);
    requireAlike(await idsOf(graph.siblings(tenant, 'c', PAGE, 'two')), []);
    requireAlike(await idsOf(graph.leaves(tenant, 'a', PAGE)), ['c', 'd']);
    requireAlike(await idsOf(graph.leaves(tenant, 'a', PAGE, 'shared')), ['d']);
    requireAlike(await idsOf(graph.leaves(tenant, 'a', PAGE, 'one')), ['b']);
  });

  it('lookups within a session take what is outside of it for the end of the tree', async () => {
    const tree = await graph.tree(tenant, 'c', { depth: 10, limit: 10 }, 'two');
    requireMatch(tree, { response: { id: 'c' }, children: [], hasMore: false });
    const shared = await graph.tree(tenant, 'd', { depth: 10, limit: 10 }, 'shared');
    requireMatch(shared, {
      response: { id: 'a' },
      children: [{ response: { id: 'b' }, children: [{ response: { id: 'd' } }], hasMore: false }],
    });
  });

  it('lookups within a session delete for all sessions what is in the one that is named, and what continues it there', async () => {
    await append(store, tenant, 'x', { sessionId: 'source' });
    await append(store, tenant, 'y', { parentId: 'x' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'source', targetId: 'fork' });
    await append(store, tenant, 'z', { parentId: 'y', sessionId: 'elsewhere' });
    assert.equal(await store.delete(tenant, 'x', { cascade: true }, 'fork'), 2);
    assert.equal(await store.get(tenant, 'x', 'source'), undefined);
    assert.equal(await store.get(tenant, 'y'), undefined);
    requireAlike(await contextOf(store, tenant, 'z'), contextFrom('x', 'y', 'z'));
  });
});
