import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { ResponseStore } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, purge, recordOf } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 60 }, (_, round) => String(round).padStart(3, '0'));

/** Deletion at the same time as something else: one of the two was first. */
export const DELETION_RACES = part('responses', 'deletion at the same time as something else', ({ share, it }) => {
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
