import assert from 'node:assert/strict';

import type { ForkOutcome, ResponseStore, SessionStore } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, newTenant } from '../records.js';
import type { TestedState } from '../tested-state.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 50 }, (_, round) => round);

/** Sessions are deleted with what only they have. */
export const SESSION_DELETION = part('sessions', 'deletion of sessions', ({ openEach, it }) => {
  const tenant = newTenant();
  let opened: TestedState;
  let store: ResponseStore;
  let sessions: SessionStore;

  openEach(async (state) => {
    opened = state;
    ({ responses: store, sessions } = opened.backend);
    await append(store, tenant, 'a', { sessionId: 'one' });
    await append(store, tenant, 'b', { parentId: 'a' });
  });

  const membersOf = async (sessionId: string): Promise<readonly string[]> =>
    (await opened.backend.graph.list(tenant, { sessionId }, { limit: 100, order: 'asc' })).data.map(({ id }) => id);

  it('the deletion of a session deletes its responses', async () => {
    await append(store, tenant, 'apart', { sessionId: 'two' });
    assert.equal(await sessions.delete(tenant, 'one'), true);
    assert.equal(await store.get(tenant, 'a'), undefined);
    assert.equal(await store.get(tenant, 'b'), undefined);
    requireAlike(await membersOf('one'), []);
    requireAlike(await membersOf('two'), ['apart']);
    assert.equal(await sessions.delete(tenant, 'two'), true);
    assert.equal(await opened.content(), 0);
  });

  it('the deletion of a session finds nothing the second time, nor where there is nothing', async () => {
    await sessions.delete(tenant, 'one');
    assert.equal(await sessions.delete(tenant, 'one'), false);
    assert.equal(await sessions.delete(tenant, 'unheard-of'), false);
  });

  it('the deletion of a session keeps what a fork shares, and lets it go with the fork', async () => {
    await sessions.fork(tenant, { sourceId: 'one', targetId: 'fork', upToResponseId: 'a' });
    assert.equal(await sessions.delete(tenant, 'one'), true);
    requireAlike(await membersOf('fork'), ['a']);
    assert.notEqual(await store.get(tenant, 'a'), undefined);
    assert.equal(await store.get(tenant, 'b'), undefined);
    assert.equal(await sessions.delete(tenant, 'fork'), true);
    assert.equal(await opened.content(), 0);
  });

  it('the deletion of a session keeps the items as context of what goes on elsewhere', async () => {
    await append(store, tenant, 'c', { parentId: 'b', sessionId: 'two' });
    await sessions.delete(tenant, 'one');
    requireAlike(await contextOf(store, tenant, 'c'), contextFrom('a', 'b', 'c'));
    assert.equal(await contextOf(store, tenant, 'b'), undefined);
    await sessions.delete(tenant, 'two');
    assert.equal(await opened.content(), 0);
  });

  it('the deletion of a session lets the name be used again', async () => {
    await sessions.delete(tenant, 'one');
    await append(store, tenant, 'new', { sessionId: 'one' });
    requireAlike(await membersOf('one'), ['new']);
  });

  it('the deletion of a session lets what a fork shares be continued in the fork', async () => {
    await sessions.fork(tenant, { sourceId: 'one', targetId: 'fork' });
    assert.equal((await store.chain(tenant, 'b'))?.sessionId, 'one');
    await sessions.delete(tenant, 'one');
    assert.equal((await store.chain(tenant, 'b'))?.sessionId, 'fork');
    await append(store, tenant, 'c', { parentId: 'b' });
    requireAlike(await membersOf('fork'), ['a', 'b', 'c']);
  });

  it('the deletion of two sessions that share responses leaves nothing behind when they go at once', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [source, fork, id] = [`source-${round}`, `fork-${round}`, `r-${round}`];
        await append(store, tenant, id, { sessionId: source });
        await sessions.fork(tenant, { sourceId: source, targetId: fork });
        await Promise.all([sessions.delete(tenant, source), sessions.delete(tenant, fork)]);
        assert.equal(await store.get(tenant, id), undefined);
      }),
    );
  });

  it('the deletion of a session is before or after a fork at the same time, and never in the middle', async () => {
    await Promise.all(
      ROUNDS.map(async (round) => {
        const [source, fork] = [`source-${round}`, `fork-${round}`];
        const ids = ['x', 'y', 'z'].map((name) => `${name}-${round}`);
        for (const id of ids) await append(store, tenant, id, { sessionId: source });
        const forked = sessions.fork(tenant, { sourceId: source, targetId: fork });
        const [outcome] = await Promise.all([forked, sessions.delete(tenant, source)]);
        const isBefore = (outcome as Exclude<ForkOutcome, { refused: string }>).responses === 3;
        requireAlike(outcome, isBefore ? { responses: 3 } : { refused: 'source_not_found' });
        requireAlike(await membersOf(fork), isBefore ? ids : []);
      }),
    );
  });
});
