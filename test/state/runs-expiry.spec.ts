import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { FakeClock } from '../../src/testing/index.js';
import type { ResponseStore, StateBackend } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, message, newTenant, purge, START, TTL_MS } from './records.js';
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
} from './runs.js';

const PAGE = { limit: 10, order: 'asc' } as const;

describe.each(BACKENDS)('expiry of background responses in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let backend: StateBackend;
  let clock: FakeClock;
  let store: ResponseStore;

  beforeEach(async () => {
    opened = await open();
    ({ backend, clock } = opened);
    store = backend.responses;
  });
  afterEach(() => opened.close());

  it('never comes before the end', async () => {
    const run = await launch(backend, tenant, 'running');
    await enqueue(store, tenant, 'waiting');
    clock.advance(AGE_MS);
    await purge(store);
    expect(await store.get(tenant, 'running')).toMatchObject({ status: 'in_progress' });
    expect(await store.get(tenant, 'waiting')).toMatchObject({ status: 'queued' });
    expect((await readAll(backend.log, run)).events).toHaveLength(3);
    await startRun(store, { tenant, responseId: 'waiting', attempt: 1 });
    await backend.log.append(run, deltas(3, 1));
    const times = { expiresAt: clock.now() + 1, logExpiresAt: clock.now() + 1 };
    await store.finish(run, endingOf('running', { at: 4, ...times }));
    expect(await store.get(tenant, 'running')).toMatchObject({ status: 'completed' });
  });

  it.each(['finished', 'cancelled'])('comes at the time that the end says, when it is %s', async (how) => {
    const run = await launch(backend, tenant, 'a');
    clock.advance(AGE_MS);
    const times = { expiresAt: clock.now() + 1000, logExpiresAt: clock.now() + 5000 };
    await (how === 'finished'
      ? store.finish(run, endingOf('a', { at: 3, ...times }))
      : store.conclude(tenant, 'a', () => cancelledOf('a', { at: 3, ...times }), {}));
    clock.advance(999);
    await purge(store);
    expect(await store.get(tenant, 'a')).toBeDefined();
    expect((await readAll(backend.log, run)).events).toHaveLength(4);
    clock.advance(1);
    expect(await store.get(tenant, 'a')).toBeUndefined();
    expect(await backend.log.read(tenant, 'a', -1)).toBeUndefined();
    await purge(store);
    expect(await opened.content()).toBe(0);
  });

  it('frees the events when their own time comes, and leaves the response', async () => {
    const run = await launch(backend, tenant, 'a');
    await backend.log.append(run, deltas(3, 100));
    await launch(backend, tenant, 'running');
    const { response } = endingOf('a', { at: 103 });
    await store.finish(run, endingOf('a', { at: 103 }));
    const before = await opened.content();
    clock.advance(LOG_TTL_MS - 1);
    await purge(store);
    expect(await opened.content()).toBe(before);
    expect(eventsOf(await backend.log.read(tenant, 'a', 99)).events).toHaveLength(4);
    clock.advance(1);
    expect(await backend.log.read(tenant, 'a', 99)).toEqual({ missing: 'expired' });
    await purge(store);
    expect(await opened.content()).toBeLessThan(before);
    const left = await opened.content();
    await purge(store);
    expect(await opened.content()).toBe(left);
    expect(await backend.log.read(tenant, 'a', -1)).toEqual({ missing: 'expired' });
    expect(await store.get(tenant, 'a')).toEqual(response);
    expect(await contextOf(store, tenant, 'a')).toEqual(contextFrom('a'));
    expect((await readAll(backend.log, { tenant, responseId: 'running' })).events).toHaveLength(3);
  });

  it('frees the events of many in batches', async () => {
    for (let index = 0; index < 250; index += 1) {
      await enqueue(store, tenant, `r${index}`);
      await store.conclude(tenant, `r${index}`, () => cancelledOf(`r${index}`), {});
    }
    const before = await opened.content();
    clock.advance(LOG_TTL_MS);
    await purge(store);
    const after = await opened.content();
    expect(after).toBeLessThan(before);
    await purge(store);
    expect(await opened.content()).toBe(after);
    clock.advance(TTL_MS);
    await purge(store);
    expect(await opened.content()).toBe(0);
  });

  describe('one that is not to be stored', () => {
    const parts = { store: false };
    const end = { at: 3, members: { store: false }, expiresAt: START + 600_000 };

    it('is there while it runs and for as long as its end says', async () => {
      const run = await launch(backend, tenant, 'a', parts);
      expect(await store.get(tenant, 'a')).toMatchObject({ status: 'in_progress', store: false });
      await store.finish(run, endingOf('a', end));
      expect(await store.get(tenant, 'a')).toEqual(endingOf('a', end).response);
      expect((await store.inputItems(tenant, 'a', PAGE))?.data).toEqual([message('a-in')]);
      expect((await readAll(backend.log, run)).events).toHaveLength(4);
      clock.advance(600_000);
      expect(await store.get(tenant, 'a')).toBeUndefined();
      await purge(store);
      expect(await opened.content()).toBe(0);
    });

    it('cannot be continued, and its items cannot be referred to', async () => {
      const run = await launch(backend, tenant, 'a', parts);
      expect(await store.items(tenant, ['a-in'])).toEqual(new Map());
      await store.finish(run, endingOf('a', end));
      expect(await store.chain(tenant, 'a')).toBeUndefined();
      expect(await store.items(tenant, ['a-in', 'a-out'])).toEqual(new Map());
    });

    it('continues others as any', async () => {
      await append(store, tenant, 'root');
      await enqueue(store, tenant, 'a', { ...parts, parentId: 'root' });
      const started = await startRun(store, { tenant, responseId: 'a', attempt: 1 });
      expect(started.context.map(({ id }) => id)).toEqual(contextFrom('root'));
    });
  });
});
