import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { ResponseStore, SessionStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, newTenant, START } from './records.js';

describe.each(BACKENDS)('sessions in $name', ({ open }) => {
  let opened: OpenedBackend;
  let store: ResponseStore;
  let sessions: SessionStore;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    ({ responses: store, sessions } = opened.backend);
  });
  /** Session `source` has `a`, `b`, `c`, each continuing the one before, made in this order. */
  beforeEach(async () => {
    tenant = newTenant();
    for (const [index, id] of ['a', 'b', 'c'].entries()) {
      const parentId = ['a', 'b'][index - 1] ?? null;
      await append(store, tenant, id, { parentId, sessionId: 'source', createdAt: START / 1000 + index });
    }
  });
  afterAll(() => opened.close());

  const membersOf = async (sessionId: string): Promise<readonly string[]> =>
    (await opened.backend.graph.list(tenant, { sessionId }, { limit: 100, order: 'asc' })).data.map(({ id }) => id);
  const fork = (targetId: string, upToResponseId?: string, sourceId = 'source') =>
    sessions.fork(tenant, { sourceId, targetId, ...(upToResponseId === undefined ? {} : { upToResponseId }) });

  it('have the responses that name them, in order of creation', async () => {
    await append(store, tenant, 'early', { sessionId: 'source', createdAt: START / 1000 - 1 });
    await append(store, tenant, 'apart', { sessionId: 'other' });
    expect(await membersOf('source')).toEqual(['early', 'a', 'b', 'c']);
    expect(await membersOf('other')).toEqual(['apart']);
    expect(await membersOf('unheard-of')).toEqual([]);
  });

  it('say whether they have at least so many responses', async () => {
    for (const [responses, has] of [
      [0, true],
      [1, true],
      [3, true],
      [4, false],
      [1000, false],
    ] as const) {
      expect(await sessions.hasAtLeast(tenant, 'source', responses)).toBe(has);
    }
    expect(await sessions.hasAtLeast(tenant, 'unheard-of', 1)).toBe(false);
  });

  it('are forked whole, and nothing is copied', async () => {
    const before = await opened.content();
    expect(await fork('fork')).toEqual({ responses: 3 });
    expect(await membersOf('fork')).toEqual(['a', 'b', 'c']);
    expect(await membersOf('source')).toEqual(['a', 'b', 'c']);
    expect(await opened.content()).toBe(before);
    expect((await store.get(tenant, 'b', 'fork'))?.id).toBe('b');
  });

  it('are forked up to a response, which is included', async () => {
    expect(await fork('fork', 'b')).toEqual({ responses: 2 });
    expect(await membersOf('fork')).toEqual(['a', 'b']);
    expect(await store.get(tenant, 'c', 'fork')).toBeUndefined();
  });

  it('are forked up to a response by order of creation, across branches', async () => {
    await append(store, tenant, 'branch', { parentId: 'a', sessionId: 'source', createdAt: START / 1000 + 3 });
    expect(await fork('fork', 'branch')).toEqual({ responses: 4 });
    expect(await fork('part', 'c')).toEqual({ responses: 3 });
    expect(await membersOf('part')).toEqual(['a', 'b', 'c']);
  });

  it('are forked from forks', async () => {
    await fork('fork', 'b');
    expect(await fork('fork of it', 'a', 'fork')).toEqual({ responses: 1 });
    expect(await membersOf('fork of it')).toEqual(['a']);
  });

  it('are forked up to a limit, not beyond it', async () => {
    const request = { sourceId: 'source', targetId: 'fork' };
    expect(await sessions.fork(tenant, { ...request, limit: 2 })).toEqual({ refused: 'too_many_responses' });
    expect(await membersOf('fork')).toEqual([]);
    expect(await sessions.fork(tenant, { ...request, limit: 2, upToResponseId: 'b' })).toEqual({ responses: 2 });
    expect(await sessions.fork(tenant, { ...request, limit: 3, targetId: 'another' })).toEqual({ responses: 3 });
  });

  it.each([
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
  ] as const)('refuse a fork %s, and change nothing', async (_, request, refused) => {
    await append(store, tenant, 'd', { sessionId: 'other' });
    expect(await sessions.fork(tenant, request)).toEqual({ refused });
    expect(await membersOf('source')).toEqual(['a', 'b', 'c']);
    expect(await membersOf('other')).toEqual(['d']);
    expect(await membersOf('new')).toEqual([]);
  });

  it('do not see what goes on in a fork of them, nor the other way round', async () => {
    await fork('fork', 'b');
    await append(store, tenant, 'forked', { parentId: 'b', sessionId: 'fork', createdAt: START / 1000 + 3 });
    await append(store, tenant, 'd', { parentId: 'c', createdAt: START / 1000 + 3 });
    expect(await membersOf('source')).toEqual(['a', 'b', 'c', 'd']);
    expect(await membersOf('fork')).toEqual(['a', 'b', 'forked']);
    expect(await contextOf(store, tenant, 'forked')).toEqual(contextFrom('a', 'b', 'forked'));
  });

  it('are forked to the same name once, however many want it', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => fork('fork')));
    expect(outcomes).toContainEqual({ responses: 3 });
    expect(await membersOf('fork')).toEqual(['a', 'b', 'c']);
    const others = outcomes.filter((outcome) => !('responses' in outcome && outcome.responses === 3));
    expect(others).toEqual(Array.from({ length: 19 }, () => ({ refused: 'target_exists' })));
  });

  it('are never mixed by two forks to the same name', async () => {
    await append(store, tenant, 'x', { sessionId: 'another' });
    const targets = Array.from({ length: 30 }, (_, index) => `fork-${index}`);
    await Promise.all(targets.flatMap((target) => [fork(target), fork(target, undefined, 'another')]));
    for (const target of targets) expect([['a', 'b', 'c'], ['x']]).toContainEqual(await membersOf(target));
  });
});
