import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { ResponseStore, SessionStore } from '../../../state/index.js';
import { requireAlike, requireEntry } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, START } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Sessions have members, and are forked. */
export const SESSIONS = part('sessions', 'sessions', ({ share, it }) => {
  let opened: TestedState;
  let store: ResponseStore;
  let sessions: SessionStore;
  let tenant: Tenant;

  /** Session `source` has `a`, `b`, `c`, each continuing the one before, made in this order. */
  share(async (state, newcomer) => {
    [opened, tenant] = [state, newcomer];
    ({ responses: store, sessions } = opened.backend);
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      const parentId = ['a', 'b'][index - 1] ?? null;
      await append(store, tenant, id, { parentId, sessionId: 'source', createdAt: START / 1000 + index });
    }
  });

  const membersOf = async (sessionId: string): Promise<readonly string[]> =>
    (await opened.backend.graph.list(tenant, { sessionId }, { limit: 100, order: 'asc' })).data.map(({ id }) => id);
  const fork = (targetId: string, upToResponseId?: string, sourceId = 'source') =>
    sessions.fork(tenant, { sourceId, targetId, ...(upToResponseId === undefined ? {} : { upToResponseId }) });

  it('sessions have the responses that name them, in order of creation', async () => {
    await append(store, tenant, 'early', { sessionId: 'source', createdAt: START / 1000 - 1 });
    await append(store, tenant, 'apart', { sessionId: 'other' });
    requireAlike(await membersOf('source'), ['early', 'a', 'b', 'c']);
    requireAlike(await membersOf('other'), ['apart']);
    requireAlike(await membersOf('unheard-of'), []);
  });

  it('sessions are forked as often as their first response may be shared, and again once a fork is deleted', async () => {
    const limited = (targetId: string, sourceId = 'source', upToResponseId?: string) =>
      sessions.fork(tenant, {
        ...{ sourceId, targetId, forkLimit: 2 },
        ...(upToResponseId === undefined ? {} : { upToResponseId }),
      });
    requireAlike(await limited('one', 'source', 'a'), { responses: 1 });
    requireAlike(await limited('two', 'one'), { responses: 1 });
    for (const sourceId of ['source', 'one', 'two']) {
      requireAlike(await limited('three', sourceId), { refused: 'too_many_forks' });
    }
    requireAlike(await membersOf('three'), []);
    requireAlike(await limited('two', 'source'), { refused: 'target_exists' });
    await sessions.delete(tenant, 'one');
    requireAlike(await limited('three'), { responses: 3 });
    await sessions.delete(tenant, 'source');
    requireAlike(await limited('four', 'three'), { refused: 'too_many_forks' });
    await sessions.delete(tenant, 'two');
    requireAlike(await limited('four', 'three'), { responses: 3 });
  });

  it('sessions say whether they have at least so many responses', async () => {
    for (const [responses, has] of [
      [0, true],
      [1, true],
      [3, true],
      [4, false],
      [1000, false],
    ] as const) {
      assert.equal(await sessions.hasAtLeast(tenant, 'source', responses), has);
    }
    assert.equal(await sessions.hasAtLeast(tenant, 'unheard-of', 1), false);
  });

  it('sessions are forked whole, and nothing is copied', async () => {
    const before = await opened.content();
    requireAlike(await fork('fork'), { responses: 3 });
    requireAlike(await membersOf('fork'), ['a', 'b', 'c']);
    requireAlike(await membersOf('source'), ['a', 'b', 'c']);
    assert.equal(await opened.content(), before);
    assert.equal((await store.get(tenant, 'b', 'fork'))?.id, 'b');
  });

  it('sessions are forked up to a response, which is included', async () => {
    requireAlike(await fork('fork', 'b'), { responses: 2 });
    requireAlike(await membersOf('fork'), ['a', 'b']);
    assert.equal(await store.get(tenant, 'c', 'fork'), undefined);
  });

  it('sessions are forked up to a response by order of creation, across branches', async () => {
    await append(store, tenant, 'branch', { parentId: 'a', sessionId: 'source', createdAt: START / 1000 + 3 });
    requireAlike(await fork('fork', 'branch'), { responses: 4 });
    requireAlike(await fork('part', 'c'), { responses: 3 });
    requireAlike(await membersOf('part'), ['a', 'b', 'c']);
  });

  it('sessions are forked from forks', async () => {
    await fork('fork', 'b');
    requireAlike(await fork('fork of it', 'a', 'fork'), { responses: 1 });
    requireAlike(await membersOf('fork of it'), ['a']);
  });

  it('sessions are forked up to a limit, not beyond it', async () => {
    const request = { sourceId: 'source', targetId: 'fork' };
    requireAlike(await sessions.fork(tenant, { ...request, limit: 2 }), { refused: 'too_many_responses' });
    requireAlike(await membersOf('fork'), []);
    requireAlike(await sessions.fork(tenant, { ...request, limit: 2, upToResponseId: 'b' }), { responses: 2 });
    requireAlike(await sessions.fork(tenant, { ...request, limit: 3, targetId: 'another' }), { responses: 3 });
  });

  for (const [title, request, refused] of [
    ['whose source is not there', { sourceId: 'nothing', targetId: 'new' }, 'source_not_found'],
    [
      'up to what is not there',
      { sourceId: 'source', targetId: 'new', upToResponseId: 'nothing' },
      'response_not_found',
    ],
    [
      'up to what is of another session',
      { sourceId: 'source', targetId: 'new', upToResponseId: 'd' },
      'response_not_found',
    ],
    ['whose target is there', { sourceId: 'source', targetId: 'other' }, 'target_exists'],
    ['into itself', { sourceId: 'source', targetId: 'source' }, 'target_exists'],
  ] as const) {
    it(`sessions refuse a fork ${title}, and change nothing`, async () => {
      await append(store, tenant, 'd', { sessionId: 'other' });
      requireAlike(await sessions.fork(tenant, request), { refused });
      requireAlike(await membersOf('source'), ['a', 'b', 'c']);
      requireAlike(await membersOf('other'), ['d']);
      requireAlike(await membersOf('new'), []);
    });
  }

  it('sessions do not see what goes on in a fork of them, nor the other way round', async () => {
    await fork('fork', 'b');
    await append(store, tenant, 'forked', { parentId: 'b', sessionId: 'fork', createdAt: START / 1000 + 3 });
    await append(store, tenant, 'd', { parentId: 'c', createdAt: START / 1000 + 3 });
    requireAlike(await membersOf('source'), ['a', 'b', 'c', 'd']);
    requireAlike(await membersOf('fork'), ['a', 'b', 'forked']);
    requireAlike(await contextOf(store, tenant, 'forked'), contextFrom('a', 'b', 'forked'));
  });

  it('sessions are forked to the same name once, however many want it', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => fork('fork')));
    requireEntry(outcomes, { responses: 3 });
    requireAlike(await membersOf('fork'), ['a', 'b', 'c']);
    const others = outcomes.filter((outcome) => !('responses' in outcome && outcome.responses === 3));
    requireAlike(
      others,
      Array.from({ length: 19 }, () => ({ refused: 'target_exists' })),
    );
  });

  it('sessions are never mixed by two forks to the same name', async () => {
    await append(store, tenant, 'x', { sessionId: 'another' });
    const targets = Array.from({ length: 30 }, (_, index) => `fork-${index}`);
    await Promise.all(targets.flatMap((target) => [fork(target), fork(target, undefined, 'another')]));
    for (const target of targets) requireEntry([['a', 'b', 'c'], ['x']], await membersOf(target));
  });
});
