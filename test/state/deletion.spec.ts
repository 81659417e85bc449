// Slow: opens each backend for each of its tests.

import { setImmediate } from 'node:timers/promises';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ResponseStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { heardBy } from './heard.js';
import { append, contextFrom, contextOf, newTenant, recordOf } from './records.js';

const PAGE = { limit: 100, order: 'asc' } as const;

describe.each(BACKENDS)('deletion in $name', ({ open }) => {
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
  /** Saves responses, each continuing the one before. */
  const appendAll = async (...ids: readonly string[]): Promise<void> => {
    for (const [index, id] of ids.entries()) await append(store, tenant, id, { parentId: ids[index - 1] ?? null });
  };
  const listed = async (): Promise<readonly string[]> =>
    (await opened.backend.graph.list(tenant, {}, PAGE)).data.map(({ id }) => id);

  it('takes a response out of every lookup, and frees it', async () => {
    await appendAll('a');
    expect(await remove('a')).toBe(1);
    const { graph, sessions } = opened.backend;
    expect(await store.get(tenant, 'a')).toBeUndefined();
    expect(await store.chain(tenant, 'a')).toBeUndefined();
    expect(await store.inputItems(tenant, 'a', PAGE)).toBeUndefined();
    expect(await store.items(tenant, contextFrom('a'))).toEqual(new Map());
    expect(await listed()).toEqual([]);
    expect(await graph.children(tenant, 'a', PAGE)).toBeUndefined();
    expect(await graph.siblings(tenant, 'a', PAGE)).toBeUndefined();
    expect(await graph.leaves(tenant, 'a', PAGE)).toBeUndefined();
    expect(await graph.tree(tenant, 'a', { depth: 1, limit: 1 })).toBeUndefined();
    expect(await sessions.hasAtLeast(tenant, 'a', 1)).toBe(false);
    expect(await sessions.fork(tenant, { sourceId: 'a', targetId: 'f' })).toEqual({ refused: 'source_not_found' });
    expect(await remove('a')).toBe(0);
    expect(await removeTree('a')).toBe(0);
    expect(await opened.content()).toBe(0);
  });

  it('takes a response that is continued out of every lookup, but leaves its items to its descendants', async () => {
    await appendAll('a', 'b', 'c');
    expect(await remove('a')).toBe(1);
    expect(await remove('b')).toBe(1);
    const { graph } = opened.backend;
    for (const id of ['a', 'b']) {
      expect(await store.get(tenant, id)).toBeUndefined();
      expect(await contextOf(store, tenant, id)).toBeUndefined();
      expect(await graph.children(tenant, id, PAGE)).toBeUndefined();
      expect(await remove(id)).toBe(0);
      expect(await removeTree(id)).toBe(0);
    }
    expect(await listed()).toEqual(['c']);
    expect(await contextOf(store, tenant, 'c')).toEqual(contextFrom('a', 'b', 'c'));
    await append(store, tenant, 'd', { parentId: 'c' });
    expect(await contextOf(store, tenant, 'd')).toEqual(contextFrom('a', 'b', 'c', 'd'));
  });

  it('frees what only descendants needed with the last of them', async () => {
    await appendAll('root', 'left');
    await append(store, tenant, 'right', { parentId: 'root' });
    const all = await opened.content();
    await remove('root');
    expect(await opened.content()).toBe(all);
    await remove('left');
    expect(await opened.content()).toBeLessThan(all);
    expect(await contextOf(store, tenant, 'right')).toEqual(contextFrom('root', 'right'));
    await remove('right');
    expect(await opened.content()).toBe(0);
  });

  it('frees a long line of deleted ancestors with the last descendant', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `r${index}`);
    await appendAll(...ids);
    for (const id of ids.slice(0, -1)) await remove(id);
    expect(await contextOf(store, tenant, 'r59')).toEqual(contextFrom(...ids));
    await remove('r59');
    expect(await opened.content()).toBe(0);
  });

  it('keeps a living ancestor of what it frees', async () => {
    await appendAll('a', 'b', 'c');
    await remove('b');
    await remove('c');
    expect(await listed()).toEqual(['a']);
    await remove('a');
    expect(await opened.content()).toBe(0);
  });

  it('cascades to all descendants, and only to those', async () => {
    await appendAll('root', 'left', 'left-leaf');
    await append(store, tenant, 'left-other', { parentId: 'left' });
    await append(store, tenant, 'right', { parentId: 'root' });
    expect(await removeTree('left')).toBe(3);
    expect(await listed()).toEqual(['right', 'root']);
    expect(await contextOf(store, tenant, 'right')).toEqual(contextFrom('root', 'right'));
    expect(await removeTree('root')).toBe(2);
    expect(await opened.content()).toBe(0);
  });

  it('cascades through what is deleted already, and does not count it again', async () => {
    await appendAll('a', 'b', 'c', 'd');
    await remove('b');
    await remove('c');
    expect(await removeTree('a')).toBe(2);
    expect(await store.get(tenant, 'd')).toBeUndefined();
    expect(await opened.content()).toBe(0);
  });

  it('cascades through what has expired, and does not count it either', async () => {
    await append(store, tenant, 'a');
    await store.save(tenant, recordOf('b', { parentId: 'a', expiresAt: opened.clock.now() + 1000 }));
    await append(store, tenant, 'c', { parentId: 'b' });
    opened.clock.advance(1000);
    expect(await removeTree('a')).toBe(2);
    expect(await store.get(tenant, 'c')).toBeUndefined();
    await store.purge();
    expect(await opened.content()).toBe(0);
  });

  it('cascades over thousands', async () => {
    await append(store, tenant, 'root');
    const children = Array.from({ length: 2500 }, (_, index) => recordOf(`r${index}`, { parentId: 'root' }));
    await opened.saveMany(tenant, children);
    expect(await removeTree('root')).toBe(2501);
    expect(await listed()).toEqual([]);
    // Nobody is kept waiting until all of it is freed.
    while ((await opened.content()) > 0) await setImmediate();
  });

  it('takes responses out of all their sessions', async () => {
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a' });
    await opened.backend.sessions.fork(tenant, { sourceId: 'one', targetId: 'two' });
    await remove('a');
    for (const sessionId of ['one', 'two']) {
      const { data } = await opened.backend.graph.list(tenant, { sessionId }, PAGE);
      expect(data.map(({ id }) => id)).toEqual(['b']);
      expect(await opened.backend.sessions.hasAtLeast(tenant, sessionId, 2)).toBe(false);
    }
  });

  it('says what is gone, to everybody who wants to know', async () => {
    const heard = heardBy(opened.backend);
    await appendAll('a', 'b', 'c');
    await append(store, tenant, 'other');
    await remove('b');
    expect(heard).toContain('b');
    await removeTree('a');
    expect(heard).toEqual(new Set(['a', 'b', 'c']));
    await remove('nothing');
    await store.delete(newTenant(), 'other', { cascade: true });
    expect(heard).toEqual(new Set(['a', 'b', 'c']));
  });
});
