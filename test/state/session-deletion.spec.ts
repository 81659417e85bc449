import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ForkOutcome, ResponseStore, SessionStore } from '../../src/state/index.js';
import { until } from '../support/held-bodies.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { heardBy } from './heard.js';
import { append, contextFrom, contextOf, newTenant } from './records.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 50 }, (_, round) => round);

describe.each(BACKENDS)('deletion of sessions in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let store: ResponseStore;
  let sessions: SessionStore;

  beforeEach(async () => {
    opened = await open();
    ({ responses: store, sessions } = opened.backend);
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a' });
  });
  afterEach(() => opened.close());

  const membersOf = async (sessionId: string): Promise<readonly string[]> =>
    (await opened.backend.graph.list(tenant, { sessionId }, { limit: 100, order: 'asc' })).data.map(({ id }) => id);

  it('deletes their responses', async () => {
    await append(store, tenant, 'apart', { sessionId: 'two' });
    expect(await sessions.delete(tenant, 'one')).toBe(true);
    expect(await store.get(tenant, 'a')).toBeUndefined();
    expect(await store.get(tenant, 'b')).toBeUndefined();
    expect(await membersOf('one')).toEqual([]);
    expect(await membersOf('two')).toEqual(['apart']);
    expect(await sessions.delete(tenant, 'two')).toBe(true);
    expect(await opened.content()).toBe(0);
  });

  it('finds nothing the second time, nor where there is nothing', async () => {
    await sessions.delete(tenant, 'one');
    expect(await sessions.delete(tenant, 'one')).toBe(false);
    expect(await sessions.delete(tenant, 'unheard-of')).toBe(false);
  });

  it('keeps what a fork shares, and lets it go with the fork', async () => {
    await sessions.fork(tenant, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    expect(await sessions.delete(tenant, 'one')).toBe(true);
    expect(await membersOf('fork')).toEqual(['a']);
    expect(await store.get(tenant, 'a')).toBeDefined();
    expect(await store.get(tenant, 'b')).toBeUndefined();
    expect(await sessions.delete(tenant, 'fork')).toBe(true);
    expect(await opened.content()).toBe(0);
  });

  it('keeps the items as context of what goes on elsewhere', async () => {
    await append(store, tenant, 'c', { parentId: 'b', sessionId: 'two' });
    await sessions.delete(tenant, 'one');
    expect(await contextOf(store, tenant, 'c')).toEqual(contextFrom('a', 'b', 'c'));
    expect(await contextOf(store, tenant, 'b')).toBeUndefined();
    await sessions.delete(tenant, 'two');
    expect(await opened.content()).toBe(0);
  });

  it('lets the name be used again', async () => {
    await sessions.delete(tenant, 'one');
    await append(store, tenant, 'new', { sessionId: 'one' });
    expect(await membersOf('one')).toEqual(['new']);
  });

  it('says what is gone, and what belongs to another session from now on', async () => {
    const heard = heardBy(opened.backend);
    await append(store, tenant, 'apart', { sessionId: 'two' });
    await sessions.fork(tenant, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    await sessions.delete(tenant, 'one');
    // What leaves a session without being deleted is announced by a notice alone.
    await until(() => heard.size === 2);
    expect(heard).toEqual(new Set(['a', 'b']));
  });

  it('lets what a fork shares be continued in the fork', async () => {
    await sessions.fork(tenant, { sourceId: 'one', targetId: 'fork' });
    expect((await store.chain(tenant, 'b'))?.sessionId).toBe('one');
    await sessions.delete(tenant, 'one');
    expect((await store.chain(tenant, 'b'))?.sessionId).toBe('fork');
    await append(store, tenant, 'c', { parentId: 'b' });
    expect(await membersOf('fork')).toEqual(['a', 'b', 'c']);
  });

  it('leaves nothing behind when two sessions that share responses go at once', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [source, fork, id] = [`source-${round}`, `fork-${round}`, `r-${round}`];
        await append(store, tenant, id, { sessionId: source });
        await sessions.fork(tenant, { sourceId: source, targetId: fork });
        await Promise.all([sessions.delete(tenant, source), sessions.delete(tenant, fork)]);
        expect(await store.get(tenant, id)).toBeUndefined();
      }),
    );
  });

  it('is before or after a fork at the same time, and never in the middle', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [source, fork] = [`source-${round}`, `fork-${round}`];
        const ids = ['x', 'y', 'z'].map((name) => `${name}-${round}`);
        for (const id of ids) await append(store, tenant, id, { sessionId: source });
        const forked = sessions.fork(tenant, { sourceId: source, targetId: fork });
        const [outcome] = await Promise.all([forked, sessions.delete(tenant, source)]);
        const isBefore = (outcome as Exclude<ForkOutcome, { refused: string }>).responses === 3;
        expect(outcome).toEqual(isBefore ? { responses: 3 } : { refused: 'source_not_found' });
        expect(await membersOf(fork)).toEqual(isBefore ? ids : []);
      }),
    );
  });
});
