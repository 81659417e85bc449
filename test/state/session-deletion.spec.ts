import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { ForkOutcome, ResponseStore, SessionStore } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { heardBy } from './heard.js';
import { append, contextFrom, contextOf, newOwner } from './records.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 50 }, (_, round) => round);

describe.each(BACKENDS)('deletion of sessions in $name', ({ open }) => {
  const owner = newOwner();
  let opened: OpenedBackend;
  let store: ResponseStore;
  let sessions: SessionStore;

  beforeEach(async () => {
    opened = await open();
    ({ responses: store, sessions } = opened.backend);
    await append(store, owner, 'a', { sessionId: 'one' });
    await append(store, owner, 'b', { parentId: 'a' });
  });
  afterEach(() => opened.close());

  const membersOf = async (sessionId: string): Promise<readonly string[]> =>
    (await opened.backend.graph.list(owner, { sessionId }, { limit: 100, order: 'asc' })).data.map(({ id }) => id);

  it('deletes their responses', async () => {
    await append(store, owner, 'apart', { sessionId: 'two' });
    expect(await sessions.delete(owner, 'one')).toBe(true);
    expect(await store.get(owner, 'a')).toBeUndefined();
    expect(await store.get(owner, 'b')).toBeUndefined();
    expect(await membersOf('one')).toEqual([]);
    expect(await membersOf('two')).toEqual(['apart']);
    expect(await sessions.delete(owner, 'two')).toBe(true);
    expect(await opened.content()).toBe(0);
  });

  it('finds nothing the second time, nor where there is nothing', async () => {
    await sessions.delete(owner, 'one');
    expect(await sessions.delete(owner, 'one')).toBe(false);
    expect(await sessions.delete(owner, 'unheard-of')).toBe(false);
  });

  it('keeps what a fork shares, and lets it go with the fork', async () => {
    await sessions.fork(owner, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    expect(await sessions.delete(owner, 'one')).toBe(true);
    expect(await membersOf('fork')).toEqual(['a']);
    expect(await store.get(owner, 'a')).toBeDefined();
    expect(await store.get(owner, 'b')).toBeUndefined();
    expect(await sessions.delete(owner, 'fork')).toBe(true);
    expect(await opened.content()).toBe(0);
  });

  it('keeps the items as context of what goes on elsewhere', async () => {
    await append(store, owner, 'c', { parentId: 'b', sessionId: 'two' });
    await sessions.delete(owner, 'one');
    expect(await contextOf(store, owner, 'c')).toEqual(contextFrom('a', 'b', 'c'));
    expect(await contextOf(store, owner, 'b')).toBeUndefined();
    await sessions.delete(owner, 'two');
    expect(await opened.content()).toBe(0);
  });

  it('lets the name be used again', async () => {
    await sessions.delete(owner, 'one');
    await append(store, owner, 'new', { sessionId: 'one' });
    expect(await membersOf('one')).toEqual(['new']);
  });

  it('says what is gone, and what belongs to another session from now on', async () => {
    const heard = heardBy(opened.backend);
    await append(store, owner, 'apart', { sessionId: 'two' });
    await sessions.fork(owner, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    await sessions.delete(owner, 'one');
    expect(heard).toEqual(new Set(['a', 'b']));
  });

  it('lets what a fork shares be continued in the fork', async () => {
    await sessions.fork(owner, { sourceId: 'one', targetId: 'fork' });
    expect((await store.chain(owner, 'b'))?.sessionId).toBe('one');
    await sessions.delete(owner, 'one');
    expect((await store.chain(owner, 'b'))?.sessionId).toBe('fork');
    await append(store, owner, 'c', { parentId: 'b' });
    expect(await membersOf('fork')).toEqual(['a', 'b', 'c']);
  });

  it('leaves nothing behind when two sessions that share responses go at once', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [source, fork, id] = [`source-${round}`, `fork-${round}`, `r-${round}`];
        await append(store, owner, id, { sessionId: source });
        await sessions.fork(owner, { sourceId: source, targetId: fork });
        await Promise.all([sessions.delete(owner, source), sessions.delete(owner, fork)]);
        expect(await store.get(owner, id)).toBeUndefined();
      }),
    );
  });

  it('is before or after a fork at the same time, and never in the middle', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [source, fork] = [`source-${round}`, `fork-${round}`];
        const ids = ['x', 'y', 'z'].map((name) => `${name}-${round}`);
        for (const id of ids) await append(store, owner, id, { sessionId: source });
        const forked = sessions.fork(owner, { sourceId: source, targetId: fork });
        const [outcome] = await Promise.all([forked, sessions.delete(owner, source)]);
        const isBefore = (outcome as Exclude<ForkOutcome, { refused: string }>).responses === 3;
        expect(outcome).toEqual(isBefore ? { responses: 3 } : { refused: 'source_not_found' });
        expect(await membersOf(fork)).toEqual(isBefore ? ids : []);
      }),
    );
  });
});
