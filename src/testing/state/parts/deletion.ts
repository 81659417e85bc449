import assert from 'node:assert/strict';
import { setImmediate } from 'node:timers/promises';

import type { Tenant } from '../../../access/index.js';
import type { ResponseStore } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, purge, recordOf } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 60 }, (_, round) => String(round).padStart(3, '0'));

const PAGE = { limit: 100, order: 'asc' } as const;

/** What is deleted is found no more, and freed as soon as nobody needs it. */
export const DELETION = part('responses', 'deletion', ({ share, it }) => {
  let tenant: Tenant;
  /** The content of the backend before the case: data of other cases. */
  let others: number;
  let opened: TestedState;
  let store: ResponseStore;

  share(async (state, newcomer) => {
    [opened, store, tenant] = [state, state.backend.responses, newcomer];
    others = await opened.content();
  });

  const remove = (id: string): Promise<number> => store.delete(tenant, id, { cascade: false });
  const removeTree = (id: string): Promise<number> => store.delete(tenant, id, { cascade: true });
  /** Expects that a purge leaves nothing of this case, also where another call was in the way of a deletion. */
  const expectNothingKept = async (): Promise<void> => {
    await purge(store);
    assert.equal(await opened.content(), others);
  };
  const saveChild = async (id: string, parentId: string): Promise<void> =>
    store.save(tenant, recordOf(id, { parentId, inherited: contextFrom(parentId).map((item) => message(item)) }));
  /** Saves responses, each continuing the one before. */
  const appendAll = async (...ids: readonly string[]): Promise<void> => {
    for (const [index, id] of ids.entries()) await append(store, tenant, id, { parentId: ids[index - 1] ?? null });
  };
  const listed = async (): Promise<readonly string[]> =>
    (await opened.backend.graph.list(tenant, {}, PAGE)).data.map(({ id }) => id);

  it('a deletion takes a response out of every lookup, and frees it', async () => {
    await appendAll('a');
    assert.equal(await remove('a'), 1);
    const { graph, sessions } = opened.backend;
    assert.equal(await store.get(tenant, 'a'), undefined);
    assert.equal(await store.chain(tenant, 'a'), undefined);
    assert.equal(await store.inputItems(tenant, 'a', PAGE), undefined);
    requireAlike(await store.items(tenant, contextFrom('a')), new Map());
    requireAlike(await listed(), []);
    assert.equal(await graph.children(tenant, 'a', PAGE), undefined);
    assert.equal(await graph.siblings(tenant, 'a', PAGE), undefined);
    assert.equal(await graph.leaves(tenant, 'a', PAGE), undefined);
    assert.equal(await graph.tree(tenant, 'a', { depth: 1, limit: 1 }), undefined);
    assert.equal(await sessions.hasAtLeast(tenant, 'a', 1), false);
    requireAlike(await sessions.fork(tenant, { sourceId: 'a', targetId: 'f' }), { refused: 'source_not_found' });
    assert.equal(await remove('a'), 0);
    assert.equal(await removeTree('a'), 0);
    assert.equal(await opened.content(), others);
  });

  it('a deletion takes a response that is continued out of every lookup, but leaves its items to its descendants', async () => {
    await appendAll('a', 'b', 'c');
    assert.equal(await remove('a'), 1);
    assert.equal(await remove('b'), 1);
    const { graph } = opened.backend;
    for (const id of ['a', 'b']) {
      assert.equal(await store.get(tenant, id), undefined);
      assert.equal(await contextOf(store, tenant, id), undefined);
      assert.equal(await graph.children(tenant, id, PAGE), undefined);
      assert.equal(await remove(id), 0);
      assert.equal(await removeTree(id), 0);
    }
    requireAlike(await listed(), ['c']);
    requireAlike(await contextOf(store, tenant, 'c'), contextFrom('a', 'b', 'c'));
    await append(store, tenant, 'd', { parentId: 'c' });
    requireAlike(await contextOf(store, tenant, 'd'), contextFrom('a', 'b', 'c', 'd'));
  });

  it('a deletion frees what only descendants needed with the last of them', async () => {
    await appendAll('root', 'left');
    await append(store, tenant, 'right', { parentId: 'root' });
    const all = await opened.content();
    await remove('root');
    assert.equal(await opened.content(), all);
    await remove('left');
    assert.ok((await opened.content()) < all);
    requireAlike(await contextOf(store, tenant, 'right'), contextFrom('root', 'right'));
    await remove('right');
    assert.equal(await opened.content(), others);
  });

  it('a deletion frees a long line of deleted ancestors with the last descendant', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
    await appendAll(...ids);
    for (const id of ids.slice(0, -1)) await remove(id);
    requireAlike(await contextOf(store, tenant, 'r59'), contextFrom(...ids));
    await remove('r59');
    assert.equal(await opened.content(), others);
  });

  it('a deletion keeps a living ancestor of what it frees', async () => {
    await appendAll('a', 'b', 'c');
    await remove('b');
    await remove('c');
    requireAlike(await listed(), ['a']);
    await remove('a');
    assert.equal(await opened.content(), others);
  });

  it('a deletion cascades to all descendants, and only to those', async () => {
    await appendAll('root', 'left', 'left-leaf');
    await append(store, tenant, 'left-other', { parentId: 'left' });
    await append(store, tenant, 'right', { parentId: 'root' });
    assert.equal(await removeTree('left'), 3);
    requireAlike(await listed(), ['right', 'root']);
    requireAlike(await contextOf(store, tenant, 'right'), contextFrom('root', 'right'));
    assert.equal(await removeTree('root'), 2);
    assert.equal(await opened.content(), others);
  });

  it('a deletion cascades through what is deleted already, and does not count it again', async () => {
    await appendAll('a', 'b', 'c', 'd');
    await remove('b');
    await remove('c');
    assert.equal(await removeTree('a'), 2);
    assert.equal(await store.get(tenant, 'd'), undefined);
    assert.equal(await opened.content(), others);
  });

  it('a deletion cascades through what has expired, and does not count it either', async () => {
    await append(store, tenant, 'a');
    await store.save(tenant, recordOf('b', { parentId: 'a', expiresAt: opened.clock.now() + 1000 }));
    await append(store, tenant, 'c', { parentId: 'b' });
    opened.clock.advance(1000);
    assert.equal(await removeTree('a'), 2);
    assert.equal(await store.get(tenant, 'c'), undefined);
    await store.purge();
    assert.equal(await opened.content(), others);
  });

  it('a deletion cascades over thousands', async () => {
    await append(store, tenant, 'root');
    const children = Array.from({ length: 2500 }, (_, index) => recordOf(`r${index}`, { parentId: 'root' }));
    await opened.saveMany(tenant, children);
    assert.equal(await removeTree('root'), 2501);
    requireAlike(await listed(), []);
    // The deletion resolves before all responses are freed.
    while ((await opened.content()) > others) await setImmediate();
  });

  it('a deletion takes responses out of all their sessions', async () => {
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'one', targetId: 'two' });
    await remove('a');
    for (const sessionId of ['one', 'two']) {
      const { data } = await opened.backend.graph.list(tenant, { sessionId }, PAGE);
      requireAlike(
        data.map(({ id }) => id),
        ['b'],
      );
      assert.equal(await opened.backend.sessions.hasAtLeast(tenant, sessionId, 2), false);
    }
  });

  // At the same time as something else: one of the two was first.

  it('a deletion leaves a child that is saved meanwhile with its whole conversation', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [parent, child] = [`parent-${round}`, `child-${round}`];
        await append(store, tenant, parent);
        await Promise.all([saveChild(child, parent), remove(parent)]);
        assert.equal(await store.get(tenant, parent), undefined);
        requireAlike(await contextOf(store, tenant, child), contextFrom(parent, child));
        await remove(child);
      }),
    );
    await expectNothingKept();
  });

  it('a deletion leaves a child that is saved during a cascade whole, or takes it along', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [root, parent, child] = [`root-${round}`, `parent-${round}`, `child-${round}`];
        await append(store, tenant, root);
        await append(store, tenant, parent, { parentId: root });
        const inherited = contextFrom(root, parent).map((item) => message(item));
        await Promise.all([store.save(tenant, recordOf(child, { parentId: parent, inherited })), removeTree(root)]);
        const context = await contextOf(store, tenant, child);
        if (context !== undefined) requireAlike(context, contextFrom(root, parent, child));
        await remove(child);
      }),
    );
    await expectNothingKept();
  });

  it('a deletion frees a parent and its child that go at once', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [parent, child] = [`parent-${round}`, `child-${round}`];
        await append(store, tenant, parent);
        await append(store, tenant, child, { parentId: parent });
        requireAlike(await Promise.all([remove(parent), remove(child)]), [1, 1]);
      }),
    );
    await expectNothingKept();
  });

  it('a deletion frees a deleted response whose last descendants go at once', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const root = `root-${round}`;
        const children = ['x', 'y', 'z'].map((name) => `${name}-${round}`);
        await append(store, tenant, root);
        for (const child of children) await append(store, tenant, child, { parentId: root });
        await remove(root);
        await Promise.all(children.map(remove));
      }),
    );
    await expectNothingKept();
  });

  it('a deletion deletes once, however many want it', async () => {
    await Promise.all(
      ROUNDS.slice(0, 20).map(async (round) => {
        await append(store, tenant, round);
        const counts = await Promise.all(Array.from({ length: 5 }, () => remove(round)));
        assert.equal(
          counts.reduce((sum, count) => sum + count),
          1,
        );
      }),
    );
    await expectNothingKept();
  });
});
