import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ResponseGraph, ResponseStore, SessionStore } from '../../src/state/index.js';
import type { FakeClock } from '../../src/testing/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { heardBy } from './heard.js';
import {
  append,
  contextFrom,
  contextOf,
  lineOf,
  message,
  newTenant,
  purge,
  recordOf,
  START,
  TTL_MS,
} from './records.js';

const PAGE = { limit: 100, order: 'asc' } as const;

describe.each(BACKENDS)('expiry in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let clock: FakeClock;
  let store: ResponseStore;
  let graph: ResponseGraph;
  let sessions: SessionStore;

  beforeEach(async () => {
    opened = await open();
    ({ clock } = opened);
    ({ responses: store, graph, sessions } = opened.backend);
  });
  afterEach(() => opened.close());

  /** Saves a response that lives for so many ms from the start on. */
  const appendFor = (id: string, ttlMs: number, parentId: string | null = null): Promise<unknown> =>
    append(store, tenant, id, { parentId, sessionId: 'session', expiresAt: START + ttlMs });
  const listed = async (): Promise<readonly string[]> => (await graph.list(tenant, {}, PAGE)).data.map(({ id }) => id);

  it('comes for each response at its own time, to the millisecond', async () => {
    await appendFor('early', 1000);
    await appendFor('late', 2000);
    clock.advance(999);
    expect(await listed()).toEqual(['early', 'late']);
    clock.advance(1);
    expect(await listed()).toEqual(['late']);
    clock.advance(1000);
    expect(await listed()).toEqual([]);
  });

  it('takes a response out of every lookup, before anything is purged', async () => {
    await appendFor('a', 1000);
    clock.advance(1000);
    expect(await store.get(tenant, 'a')).toBeUndefined();
    expect(await store.chain(tenant, 'a')).toBeUndefined();
    expect(await store.inputItems(tenant, 'a', PAGE)).toBeUndefined();
    expect(await store.items(tenant, contextFrom('a'))).toEqual(new Map());
    expect(await store.delete(tenant, 'a', { cascade: true })).toBe(0);
    expect(await graph.list(tenant, { sessionId: 'session' }, PAGE)).toEqual({ data: [], hasMore: false });
    expect(await graph.tree(tenant, 'a', { depth: 1, limit: 1 })).toBeUndefined();
    expect(await graph.leaves(tenant, 'a', PAGE)).toBeUndefined();
    expect(await sessions.hasAtLeast(tenant, 'session', 1)).toBe(false);
    expect(await sessions.delete(tenant, 'session')).toBe(false);
    expect(await sessions.fork(tenant, { sourceId: 'session', targetId: 'fork' })).toEqual({
      refused: 'source_not_found',
    });
  });

  it('leaves the items to living descendants, purged or not', async () => {
    await appendFor('a', 1000);
    await appendFor('b', 2000, 'a');
    await appendFor('c', 50_000, 'b');
    clock.advance(2000);
    expect(await contextOf(store, tenant, 'c')).toEqual(contextFrom('a', 'b', 'c'));
    await purge(store);
    expect(await contextOf(store, tenant, 'c')).toEqual(contextFrom('a', 'b', 'c'));
    expect(await listed()).toEqual(['c']);
    expect(await graph.tree(tenant, 'c', { depth: 1, limit: 5 })).toMatchObject({ response: { id: 'c' } });
  });

  it('leaves the items to a child that is saved when it has come already', async () => {
    await appendFor('parent', 1000);
    const inherited = contextFrom('parent').map((id) => message(id));
    clock.advance(1000);
    await store.save(tenant, recordOf('child', { parentId: 'parent', inherited }));
    await purge(store);
    expect(await contextOf(store, tenant, 'child')).toEqual(contextFrom('parent', 'child'));
  });

  it('frees what nothing living continues', async () => {
    await appendFor('a', 1000);
    await appendFor('b', 1000, 'a');
    await append(store, newTenant(), 'of somebody else', { expiresAt: START + 1000 });
    expect(await purge(store)).toBe(1);
    expect(await listed()).toEqual(['a', 'b']);
    clock.advance(1000);
    expect(await purge(store)).toBe(1);
    expect(await opened.content()).toBe(0);
  });

  it('frees what was needed once its last descendant has expired', async () => {
    await appendFor('root', 1000);
    await appendFor('left', 2000, 'root');
    await appendFor('right', 3000, 'root');
    clock.advance(1000);
    await purge(store);
    clock.advance(1000);
    await purge(store);
    expect(await contextOf(store, tenant, 'right')).toEqual(contextFrom('root', 'right'));
    clock.advance(1000);
    await purge(store);
    expect(await opened.content()).toBe(0);
  });

  it('frees what was needed once its last descendant is deleted', async () => {
    await appendFor('root', 1000);
    await appendFor('child', 5000, 'root');
    clock.advance(1000);
    await purge(store);
    expect(await store.delete(tenant, 'child', { cascade: false })).toBe(1);
    expect(await opened.content()).toBe(0);
  });

  it('frees a chain of 3,000 in batches', async () => {
    await opened.saveMany(tenant, lineOf(3000));
    clock.advance(TTL_MS);
    expect(await store.purge()).toBe(true);
    expect(await purge(store)).toBeGreaterThanOrEqual(2);
    expect(await opened.content()).toBe(0);
  });

  it('says what is gone', async () => {
    const heard = heardBy(opened.backend);
    await appendFor('a', 1000);
    await appendFor('b', 1000, 'a');
    await appendFor('living', 50_000, 'b');
    await purge(store);
    expect(heard).toEqual(new Set());
    clock.advance(1000);
    await purge(store);
    expect(heard).toEqual(new Set(['a', 'b']));
  });

  it('makes room in a session', async () => {
    await appendFor('a', 1000);
    await appendFor('b', 50_000);
    expect(await sessions.hasAtLeast(tenant, 'session', 2)).toBe(true);
    clock.advance(1000);
    expect(await sessions.hasAtLeast(tenant, 'session', 2)).toBe(false);
    expect(await sessions.fork(tenant, { sourceId: 'session', targetId: 'fork' })).toEqual({ responses: 1 });
  });

  it('lets a session be forked to a name whose responses are all gone', async () => {
    await append(store, tenant, 'old', { sessionId: 'target', expiresAt: START + 1000 });
    await appendFor('a', 50_000);
    const request = { sourceId: 'session', targetId: 'target' };
    expect(await sessions.fork(tenant, request)).toEqual({ refused: 'target_exists' });
    clock.advance(1000);
    expect(await sessions.fork(tenant, request)).toEqual({ responses: 1 });
  });
});
