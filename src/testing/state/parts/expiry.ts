import assert from 'node:assert/strict';

import type { ResponseGraph, ResponseStore, SessionStore } from '../../../state/index.js';
import type { FakeClock } from '../../fake-clock.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
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
} from '../records.js';
import type { TestedState } from '../tested-state.js';

const PAGE = { limit: 100, order: 'asc' } as const;

/** What has expired is found no more, and a purge frees it. */
export const EXPIRY = part('responses', 'expiry', ({ openEach, it }) => {
  const tenant = newTenant();
  let opened: TestedState;
  let clock: FakeClock;
  let store: ResponseStore;
  let graph: ResponseGraph;
  let sessions: SessionStore;

  openEach((state) => {
    opened = state;
    ({ clock } = opened);
    ({ responses: store, graph, sessions } = opened.backend);
  });

  /** Saves a response that lives for so many ms from the start on. */
  const appendFor = (id: string, ttlMs: number, parentId: string | null = null): Promise<unknown> =>
    append(store, tenant, id, { parentId, sessionId: 'session', expiresAt: START + ttlMs });
  const listed = async (): Promise<readonly string[]> => (await graph.list(tenant, {}, PAGE)).data.map(({ id }) => id);

  it('the expiry comes for each response at its own time, to the millisecond', async () => {
    await appendFor('early', 1000);
    await appendFor('late', 2000);
    clock.advance(999);
    requireAlike(await listed(), ['early', 'late']);
    clock.advance(1);
    requireAlike(await listed(), ['late']);
    clock.advance(1000);
    requireAlike(await listed(), []);
  });

  it('the expiry takes a response out of every lookup, before anything is purged', async () => {
    await appendFor('a', 1000);
    clock.advance(1000);
    assert.equal(await store.get(tenant, 'a'), undefined);
    assert.equal(await store.chain(tenant, 'a'), undefined);
    assert.equal(await store.inputItems(tenant, 'a', PAGE), undefined);
    requireAlike(await store.items(tenant, contextFrom('a')), new Map());
    assert.equal(await store.delete(tenant, 'a', { cascade: true }), 0);
    requireAlike(await graph.list(tenant, { sessionId: 'session' }, PAGE), { data: [], hasMore: false });
    assert.equal(await graph.tree(tenant, 'a', { depth: 1, limit: 1 }), undefined);
    assert.equal(await graph.leaves(tenant, 'a', PAGE), undefined);
    assert.equal(await sessions.hasAtLeast(tenant, 'session', 1), false);
    assert.equal(await sessions.delete(tenant, 'session'), false);
    requireAlike(await sessions.fork(tenant, { sourceId: 'session', targetId: 'fork' }), {
      refused: 'source_not_found',
    });
  });

  it('the expiry leaves the items to living descendants, purged or not', async () => {
    await appendFor('a', 1000);
    await appendFor('b', 2000, 'a');
    await appendFor('c', 50_000, 'b');
    clock.advance(2000);
    requireAlike(await contextOf(store, tenant, 'c'), contextFrom('a', 'b', 'c'));
    await purge(store);
    requireAlike(await contextOf(store, tenant, 'c'), contextFrom('a', 'b', 'c'));
    requireAlike(await listed(), ['c']);
    requireMatch(await graph.tree(tenant, 'c', { depth: 1, limit: 5 }), { response: { id: 'c' } });
  });

  it('the expiry leaves the items to a child that is saved when it has come already', async () => {
    await appendFor('parent', 1000);
    const inherited = contextFrom('parent').map((id) => message(id));
    clock.advance(1000);
    await store.save(tenant, recordOf('child', { parentId: 'parent', inherited }));
    await purge(store);
    requireAlike(await contextOf(store, tenant, 'child'), contextFrom('parent', 'child'));
  });

  it('the expiry frees what nothing living continues', async () => {
    await appendFor('a', 1000);
    await appendFor('b', 1000, 'a');
    await append(store, newTenant(), 'of somebody else', { expiresAt: START + 1000 });
    assert.equal(await purge(store), 1);
    requireAlike(await listed(), ['a', 'b']);
    clock.advance(1000);
    assert.equal(await purge(store), 1);
    assert.equal(await opened.content(), 0);
  });

  it('the expiry frees what was needed once its last descendant has expired', async () => {
    await appendFor('root', 1000);
    await appendFor('left', 2000, 'root');
    await appendFor('right', 3000, 'root');
    clock.advance(1000);
    await purge(store);
    clock.advance(1000);
    await purge(store);
    requireAlike(await contextOf(store, tenant, 'right'), contextFrom('root', 'right'));
    clock.advance(1000);
    await purge(store);
    assert.equal(await opened.content(), 0);
  });

  it('the expiry frees what was needed once its last descendant is deleted', async () => {
    await appendFor('root', 1000);
    await appendFor('child', 5000, 'root');
    clock.advance(1000);
    await purge(store);
    assert.equal(await store.delete(tenant, 'child', { cascade: false }), 1);
    assert.equal(await opened.content(), 0);
  });

  it('the expiry frees a chain of 3,000 in batches', async () => {
    await opened.saveMany(tenant, lineOf(3000));
    clock.advance(TTL_MS);
    assert.equal(await store.purge(), true);
    assert.ok((await purge(store)) >= 2);
    assert.equal(await opened.content(), 0);
  });

  it('the expiry makes room in a session', async () => {
    await appendFor('a', 1000);
    await appendFor('b', 50_000);
    assert.equal(await sessions.hasAtLeast(tenant, 'session', 2), true);
    clock.advance(1000);
    assert.equal(await sessions.hasAtLeast(tenant, 'session', 2), false);
    requireAlike(await sessions.fork(tenant, { sourceId: 'session', targetId: 'fork' }), { responses: 1 });
  });

  it('the expiry lets a session be forked to a name whose responses are all gone', async () => {
    await append(store, tenant, 'old', { sessionId: 'target', expiresAt: START + 1000 });
    await appendFor('a', 50_000);
    const request = { sourceId: 'session', targetId: 'target' };
    requireAlike(await sessions.fork(tenant, request), { refused: 'target_exists' });
    clock.advance(1000);
    requireAlike(await sessions.fork(tenant, request), { responses: 1 });
  });
});
