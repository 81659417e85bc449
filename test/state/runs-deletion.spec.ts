// Slow: opens each backend for each of its tests.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { type ResponseStore, RunLostError, type StateBackend } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { heardBy } from './heard.js';
import { append, contextFrom, contextOf, newTenant, purge, recordOf } from './records.js';
import { after, batch, cancelledOf, deltas, endingOf, enqueue, launch, startRun } from './runs.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 60 }, (_, round) => `r${round}`);

describe.each(BACKENDS)('deletion of background responses in $name', ({ open }) => {
  const tenant = newTenant();
  let opened: OpenedBackend;
  let backend: StateBackend;
  let store: ResponseStore;

  beforeEach(async () => {
    opened = await open();
    ({ backend } = opened);
    store = backend.responses;
  });
  afterEach(() => opened.close());

  const remove = (id: string): Promise<number> => store.delete(tenant, id, { cascade: false });
  const expectNothingKept = async (): Promise<void> => {
    await purge(store);
    expect(await opened.content()).toBe(0);
  };

  const WAYS: Readonly<Record<string, () => Promise<unknown>>> = {
    'itself is deleted': () => remove('a'),
    'its parent is deleted with all that continues it': () => store.delete(tenant, 'root', { cascade: true }),
    'its session is deleted': () => backend.sessions.delete(tenant, 's'),
  };

  describe.each(Object.entries(WAYS))('when %s', (_, leave) => {
    beforeEach(() => append(store, tenant, 'root', { sessionId: 's' }));

    it('ends the run: nothing can be written any more', async () => {
      const heard = heardBy(backend);
      const run = await launch(backend, tenant, 'a', { parentId: 'root', sessionId: 's' });
      // Needs its parent, which is therefore not freed.
      await store.save(tenant, recordOf('child', { parentId: 'a' }));
      await leave();
      expect(heard).toContain('a');
      await expect(backend.log.append(run, deltas(3, 1))).rejects.toBeInstanceOf(RunLostError);
      await expect(store.finish(run, endingOf('a', { at: 3 }))).rejects.toBeInstanceOf(RunLostError);
      await store.handBack(run);
      expect(await store.start(after(run))).toBeUndefined();
      expect(await store.conclude(tenant, 'a', () => cancelledOf('a'), {})).toBeUndefined();
      expect(await store.get(tenant, 'a')).toBeUndefined();
      expect(await backend.log.read(tenant, 'a', -1)).toBeUndefined();
    });

    it('takes back one that waits, and one that was started', async () => {
      await enqueue(store, tenant, 'a', { parentId: 'root', sessionId: 's' });
      const run = { tenant, responseId: 'a', attempt: 1 };
      await startRun(store, run);
      await leave();
      expect(await store.queuedBefore(Number.MAX_SAFE_INTEGER / 2000, 10)).toEqual([]);
      await expect(backend.log.append(run, batch(2))).rejects.toBeInstanceOf(RunLostError);
      expect(await store.start(after(run))).toBeUndefined();
    });

    it('leaves nothing behind', async () => {
      const run = await launch(backend, tenant, 'a', { parentId: 'root', sessionId: 's' });
      await backend.log.append(run, deltas(3, 10));
      await leave();
      await store.delete(tenant, 'root', { cascade: true });
      await expectNothingKept();
    });
  });

  it('leaves a response to those that continue it, without its events', async () => {
    const run = await launch(backend, tenant, 'a');
    await store.finish(run, endingOf('a', { at: 3 }));
    await append(store, tenant, 'b', { parentId: 'a' });
    expect(await remove('a')).toBe(1);
    expect(await backend.log.read(tenant, 'a', -1)).toBeUndefined();
    expect(await contextOf(store, tenant, 'b')).toEqual(contextFrom('a', 'b'));
    await remove('b');
    await expectNothingKept();
  });

  it('does not stop a run whose parent goes alone', async () => {
    await append(store, tenant, 'root');
    const run = await launch(backend, tenant, 'a', { parentId: 'root' });
    await remove('root');
    await purge(store);
    await store.finish(run, endingOf('a', { at: 3 }));
    expect(await contextOf(store, tenant, 'a')).toEqual(contextFrom('root', 'a'));
    await remove('a');
    await expectNothingKept();
  });

  /** What may come at the same time as a deletion. None of it brings back what was deleted. */
  const MEANWHILE: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    finish: (id) => store.finish({ tenant, responseId: id, attempt: 1 }, endingOf(id, { at: 3 })),
    'finish with jobs': (id) => {
      const jobs = [{ queue: 'webhooks', data: { id } }] as const;
      return store.finish({ tenant, responseId: id, attempt: 1 }, endingOf(id, { at: 3, jobs }));
    },
    append: (id) => backend.log.append({ tenant, responseId: id, attempt: 1 }, deltas(3, 2)),
    start: (id) => store.start({ tenant, responseId: id, attempt: 2 }),
    conclude: (id) => store.conclude(tenant, id, () => cancelledOf(id, { at: 3 }), {}),
  };

  it.each(Object.entries(MEANWHILE))('wins over %s at the same time', async (name, write) => {
    await Promise.all(
      ROUNDS.map(async (id) => {
        await launch(backend, tenant, id);
        const [written, deleted] = await Promise.allSettled([write(id), remove(id)]);
        if (written.status === 'rejected') expect(written.reason).toBeInstanceOf(RunLostError);
        if (name === 'start' || name === 'conclude') expect(written.status).toBe('fulfilled');
        expect(deleted).toEqual({ status: 'fulfilled', value: 1 });
        expect(await store.get(tenant, id)).toBeUndefined();
      }),
    );
    await expectNothingKept();
  });
});
