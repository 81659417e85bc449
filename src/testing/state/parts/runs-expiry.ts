import assert from 'node:assert/strict';

import type { BackgroundRuns, ResponseStore, StateBackend } from '../../../state/index.js';
import type { FakeClock } from '../../fake-clock.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, newTenant, purge, START, TTL_MS } from '../records.js';
import {
  AGE_MS,
  cancelledOf,
  deltas,
  endingOf,
  enqueue,
  eventsOf,
  launch,
  LOG_TTL_MS,
  readAll,
  startRun,
} from '../runs.js';
import type { TestedState } from '../tested-state.js';

const PAGE = { limit: 10, order: 'asc' } as const;

/** Background responses expire after their end only, and their logs with them. */
export const RUNS_EXPIRY = part('runs', 'expiry of background responses', ({ openEach, it, describe }) => {
  const tenant = newTenant();
  let opened: TestedState;
  let backend: StateBackend;
  let clock: FakeClock;
  let store: ResponseStore;
  let runs: BackgroundRuns;

  openEach((state) => {
    opened = state;
    ({ backend, clock } = opened);
    ({ responses: store, runs } = backend);
  });

  it('the expiry of a background response never comes before the end', async () => {
    const run = await launch(backend, tenant, 'running');
    await enqueue(runs, tenant, 'waiting');
    clock.advance(AGE_MS);
    await purge(store);
    requireMatch(await store.get(tenant, 'running'), { status: 'in_progress' });
    requireMatch(await store.get(tenant, 'waiting'), { status: 'queued' });
    assert.equal((await readAll(backend.log, run)).events.length, 3);
    await startRun(runs, { tenant, responseId: 'waiting', attempt: 1 });
    await backend.log.append(run, deltas(3, 1));
    const times = { expiresAt: clock.now() + 1, logExpiresAt: clock.now() + 1 };
    await runs.finish(run, endingOf('running', { at: 4, ...times }));
    requireMatch(await store.get(tenant, 'running'), { status: 'completed' });
  });

  for (const how of ['finished', 'cancelled']) {
    it(`the expiry of a background response comes at the time that the end says, when it is ${how}`, async () => {
      const run = await launch(backend, tenant, 'a');
      clock.advance(AGE_MS);
      const times = { expiresAt: clock.now() + 1000, logExpiresAt: clock.now() + 5000 };
      await (how === 'finished'
        ? runs.finish(run, endingOf('a', { at: 3, ...times }))
        : runs.conclude(tenant, 'a', () => cancelledOf('a', { at: 3, ...times }), {}));
      clock.advance(999);
      await purge(store);
      assert.notEqual(await store.get(tenant, 'a'), undefined);
      assert.equal((await readAll(backend.log, run)).events.length, 4);
      clock.advance(1);
      assert.equal(await store.get(tenant, 'a'), undefined);
      assert.equal(await backend.log.read(tenant, 'a', -1), undefined);
      await purge(store);
      assert.equal(await opened.content(), 0);
    });
  }

  it('the expiry of a background response frees the events when their own time comes, and leaves the response', async () => {
    const run = await launch(backend, tenant, 'a');
    await backend.log.append(run, deltas(3, 100));
    await launch(backend, tenant, 'running');
    const { response } = endingOf('a', { at: 103 });
    await runs.finish(run, endingOf('a', { at: 103 }));
    const before = await opened.content();
    clock.advance(LOG_TTL_MS - 1);
    await purge(store);
    assert.equal(await opened.content(), before);
    assert.equal(eventsOf(await backend.log.read(tenant, 'a', 99)).events.length, 4);
    clock.advance(1);
    requireAlike(await backend.log.read(tenant, 'a', 99), { missing: 'expired' });
    await purge(store);
    assert.ok((await opened.content()) < before);
    const left = await opened.content();
    await purge(store);
    assert.equal(await opened.content(), left);
    requireAlike(await backend.log.read(tenant, 'a', -1), { missing: 'expired' });
    requireAlike(await store.get(tenant, 'a'), response);
    requireAlike(await contextOf(store, tenant, 'a'), contextFrom('a'));
    assert.equal((await readAll(backend.log, { tenant, responseId: 'running' })).events.length, 3);
  });

  it('the expiry of a background response frees the events of many in batches', async () => {
    await Promise.all(
      Array.from({ length: 250 }, async (_, index) => {
        await enqueue(runs, tenant, `r${index}`);
        await runs.conclude(tenant, `r${index}`, () => cancelledOf(`r${index}`), {});
      }),
    );
    const before = await opened.content();
    clock.advance(LOG_TTL_MS);
    await purge(store);
    const after = await opened.content();
    assert.ok(after < before);
    await purge(store);
    assert.equal(await opened.content(), after);
    clock.advance(TTL_MS);
    await purge(store);
    assert.equal(await opened.content(), 0);
  });

  describe('one that is not to be stored', () => {
    const parts = { store: false };
    const end = { at: 3, members: { store: false }, expiresAt: START + 600_000 };

    it('a background response that is not to be stored is there while it runs and for as long as its end says', async () => {
      const run = await launch(backend, tenant, 'a', parts);
      requireMatch(await store.get(tenant, 'a'), { status: 'in_progress', store: false });
      await runs.finish(run, endingOf('a', end));
      requireAlike(await store.get(tenant, 'a'), endingOf('a', end).response);
      requireAlike((await store.inputItems(tenant, 'a', PAGE))?.data, [message('a-in')]);
      assert.equal((await readAll(backend.log, run)).events.length, 4);
      clock.advance(600_000);
      assert.equal(await store.get(tenant, 'a'), undefined);
      await purge(store);
      assert.equal(await opened.content(), 0);
    });

    it('a background response that is not to be stored cannot be continued, and its items cannot be referred to', async () => {
      const run = await launch(backend, tenant, 'a', parts);
      requireAlike(await store.items(tenant, ['a-in']), new Map());
      await runs.finish(run, endingOf('a', end));
      assert.equal(await store.chain(tenant, 'a'), undefined);
      requireAlike(await store.items(tenant, ['a-in', 'a-out']), new Map());
    });

    it('a background response that is not to be stored continues others as any', async () => {
      await append(store, tenant, 'root');
      await enqueue(runs, tenant, 'a', { ...parts, parentId: 'root' });
      const started = await startRun(runs, { tenant, responseId: 'a', attempt: 1 });
      requireAlike(
        started.context.map(({ id }) => id),
        contextFrom('root'),
      );
    });
  });
});
