import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, message, newTenant, purge, recordOf } from './records.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 100 }, (_, round) => String(round).padStart(3, '0'));

describe.each(BACKENDS)('deletion at the same time as something else in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let store: ResponseStore;

  beforeEach(async () => {
    opened = await open();
    store = opened.backend.responses;
  });
  afterEach(() => opened.close());

  const remove = (id: string): Promise<number> => store.delete(tenant, id, { cascade: false });
  const removeTree = (id: string): Promise<number> => store.delete(tenant, id, { cascade: true });
  /** What was in somebody's way is freed by the next purge. */
  const expectNothingKept = async (): Promise<void> => {
    await purge(store);
    expect(await opened.content()).toBe(0);
  };
  const saveChild = async (id: string, parentId: string): Promise<void> =>
    store.save(tenant, recordOf(id, { parentId, inherited: contextFrom(parentId).map((item) => message(item)) }));

  it('leaves a child that is saved meanwhile with its whole conversation', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [parent, child] = [`parent-${round}`, `child-${round}`];
        await append(store, tenant, parent);
        await Promise.all([saveChild(child, parent), remove(parent)]);
        expect(await store.get(tenant, parent)).toBeUndefined();
        expect(await contextOf(store, tenant, child)).toEqual(contextFrom(parent, child));
        await remove(child);
      }),
    );
    await expectNothingKept();
  });

  it('leaves a child that is saved during a cascade whole, or takes it along', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [root, parent, child] = [`root-${round}`, `parent-${round}`, `child-${round}`];
        await append(store, tenant, root);
        await append(store, tenant, parent, { parentId: root });
        const inherited = contextFrom(root, parent).map((item) => message(item));
        await Promise.all([store.save(tenant, recordOf(child, { parentId: parent, inherited })), removeTree(root)]);
        const context = await contextOf(store, tenant, child);
        if (context !== undefined) expect(context).toEqual(contextFrom(root, parent, child));
        await remove(child);
      }),
    );
    await expectNothingKept();
  });

  it('frees a parent and its child that go at once', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [parent, child] = [`parent-${round}`, `child-${round}`];
        await append(store, tenant, parent);
        await append(store, tenant, child, { parentId: parent });
        expect(await Promise.all([remove(parent), remove(child)])).toEqual([1, 1]);
      }),
    );
    await expectNothingKept();
  });

  it('frees a deleted response whose last descendants go at once', async () => {
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

  it('deletes once, however many want it', async () => {
    await Promise.all(
      ROUNDS.slice(0, 20).map(async (round) => {
        await append(store, tenant, round);
        const counts = await Promise.all(Array.from({ length: 5 }, () => remove(round)));
        expect(counts.reduce((sum, count) => sum + count)).toBe(1);
      }),
    );
    await expectNothingKept();
  });
});
