import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import {
  type ResponseStore,
  type Run,
  RunLostError,
  WriteLockLostError,
  type StateBackend,
} from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { LEASE_MS, newTenant } from './records.js';
import {
  after,
  batch,
  begins,
  cancelledOf,
  deltas,
  dropped,
  endingOf,
  enqueue,
  launch,
  readAll,
  startRun,
} from './runs.js';

const ROUNDS = Array.from({ length: 30 }, (_, round) => `r${round}`);

describe.each(BACKENDS)('who may write of a background response in $name', ({ name, open }) => {
  let opened: OpenedBackend;
  let backend: StateBackend;
  let store: ResponseStore;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    ({ backend } = opened);
    store = backend.responses;
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  /** What clients and further attempts see. */
  const stateOf = async (responseId: string): Promise<unknown> => ({
    response: await store.get(tenant, responseId),
    chain: await store.chain(tenant, responseId),
    log: await readAll(backend.log, { tenant, responseId }),
  });
  /** Every way to write. */
  const WRITES: Readonly<Record<string, (run: Run) => Promise<unknown>>> = {
    'an event': (run) => backend.log.append(run, deltas(3, 1)),
    'the beginning': (run) => backend.log.append(run, batch(3, begins(3))),
    'a note': (run) => backend.log.append(run, { ...batch(3), notes: [dropped(3, 0)] }),
    'an end': (run) => store.finish(run, endingOf(run.responseId, { at: 3 })),
    'an end with jobs': (run) =>
      store.finish(run, endingOf(run.responseId, { at: 3, jobs: [{ queue: 'webhooks', data: {} }] })),
  };
  const writes = Object.entries(WRITES);
  const expectRefused = async (run: Run, write: (run: Run) => Promise<unknown>): Promise<void> => {
    const before = await stateOf(run.responseId);
    await expect(write(run)).rejects.toBeInstanceOf(RunLostError);
    expect(await stateOf(run.responseId)).toEqual(before);
  };

  describe.each(writes)('%s', (_, write) => {
    it('is written by the attempt that has started', async () => {
      const run = await launch(backend, tenant, 'a');
      const before = JSON.stringify(await startRun(store, after(run)));
      await write(after(run));
      const next = await store.start({ ...run, attempt: 3 });
      expect(JSON.stringify(next)).not.toBe(before);
    });

    it('is refused to an attempt that has not started', async () => {
      await enqueue(store, tenant, 'a');
      await expectRefused({ tenant, responseId: 'a', attempt: 1 }, write);
      const run = await launch(backend, tenant, 'b');
      await expectRefused(after(run), write);
    });

    it('is refused to an attempt when a later one has started', async () => {
      const run = await launch(backend, tenant, 'a');
      await startRun(store, after(run));
      await expectRefused(run, write);
      await store.handBack(after(run));
      await expectRefused(run, write);
    });

    it('is refused once the response has ended', async () => {
      const run = await launch(backend, tenant, 'a');
      await store.finish(run, endingOf('a', { at: 3, status: 'incomplete' }));
      await expectRefused(run, write);
    });

    it('is refused once the response was cancelled', async () => {
      const run = await launch(backend, tenant, 'a');
      await store.conclude(tenant, 'a', () => cancelledOf('a', { at: 3 }), {});
      await expectRefused(run, write);
    });

    it('is refused for a response that is not known, and to another tenant', async () => {
      const run = await launch(backend, tenant, 'a');
      const before = await stateOf('a');
      await expect(write({ ...run, responseId: 'nothing' })).rejects.toBeInstanceOf(RunLostError);
      await expect(write({ ...run, tenant: newTenant() })).rejects.toBeInstanceOf(RunLostError);
      expect(await stateOf('a')).toEqual(before);
    });

    it('is refused for a response whose client waits for it', async () => {
      const record = { ...endingOf('a'), input: [], parentId: null, inherited: [], sessionId: 'a' };
      await store.save(tenant, record);
      const before = await store.get(tenant, 'a');
      await expect(write({ tenant, responseId: 'a', attempt: 1 })).rejects.toBeInstanceOf(RunLostError);
      await expect(write({ tenant, responseId: 'a', attempt: 0 })).rejects.toBeInstanceOf(RunLostError);
      expect(await store.get(tenant, 'a')).toEqual(before);
    });
  });

  describe('a start', () => {
    it.each([0, 1, 2])('of attempt %p is refused when attempt 2 has started', async (attempt) => {
      await enqueue(store, tenant, 'a');
      const run = { tenant, responseId: 'a', attempt: 2 };
      await startRun(store, run);
      expect(await store.start({ ...run, attempt })).toBeUndefined();
      await backend.log.append(run, batch(2, begins(2)));
      expect((await startRun(store, { ...run, attempt: 3 })).attempts).toBe(2);
    });

    it('is refused once the response has ended', async () => {
      const run = await launch(backend, tenant, 'a');
      await store.finish(run, endingOf('a', { at: 3 }));
      await enqueue(store, tenant, 'b');
      await store.conclude(tenant, 'b', () => cancelledOf('b'), {});
      expect(await store.start(after(run))).toBeUndefined();
      expect(await store.start({ tenant, responseId: 'b', attempt: 1 })).toBeUndefined();
    });

    it('is refused for what is not known, is of somebody else, or never waited', async () => {
      await enqueue(store, tenant, 'a');
      const record = { ...endingOf('saved'), input: [], parentId: null, inherited: [], sessionId: 'a' };
      await store.save(tenant, record);
      expect(await store.start({ tenant, responseId: 'nothing', attempt: 1 })).toBeUndefined();
      expect(await store.start({ tenant: newTenant(), responseId: 'a', attempt: 1 })).toBeUndefined();
      expect(await store.start({ tenant, responseId: 'saved', attempt: 1 })).toBeUndefined();
    });

    it('of the same attempt succeeds once, however many start at once', async () => {
      await enqueue(store, tenant, 'a');
      const starts = Array.from({ length: 5 }, () => store.start({ tenant, responseId: 'a', attempt: 1 }));
      expect((await Promise.all(starts)).filter((started) => started !== undefined)).toHaveLength(1);
    });
  });

  it('does not let a lost attempt be handed back', async () => {
    const run = await launch(backend, tenant, 'a');
    await startRun(store, after(run));
    await store.handBack(run);
    await store.handBack({ ...run, tenant: newTenant(), attempt: 2 });
    expect((await startRun(store, { ...run, attempt: 3 })).attempts).toBe(3);
  });

  it('lets one of two finishers win, whoever they are', async () => {
    const winners = new Set<unknown>();
    await Promise.all(
      ROUNDS.map(async (id) => {
        const run = await launch(backend, tenant, id);
        const ends = [
          endingOf(id, { at: 3, status: 'completed' }),
          endingOf(id, { at: 3, status: 'incomplete' }),
          endingOf(id, { at: 3, status: 'failed' }),
        ];
        const outcomes = await Promise.allSettled(ends.map((ending) => store.finish(run, ending)));
        const won = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [ends[index]] : []));
        expect(won).toHaveLength(1);
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RunLostError);
        }
        expect(await store.get(tenant, id)).toEqual(won[0]?.response);
        const { events, isLast } = await readAll(backend.log, run);
        expect([events.length, isLast]).toEqual([4, true]);
        expect(events.at(-1)?.json).toBe(won[0]?.log.events[0]?.json);
        winners.add(won[0]?.response.status);
      }),
    );
    expect(winners.size).toBeGreaterThan(0);
  });

  it('lets a finisher or a canceller win, and both see the same end', async () => {
    await Promise.all(
      ROUNDS.map(async (id) => {
        const run = await launch(backend, tenant, id);
        const [finished, concluded] = await Promise.allSettled([
          store.finish(run, endingOf(id, { at: 3 })),
          store.conclude(tenant, id, () => cancelledOf(id, { at: 3 }), {}),
        ]);
        const response = await store.get(tenant, id);
        expect(response?.status).toBe(finished.status === 'fulfilled' ? 'completed' : 'cancelled');
        expect(concluded).toEqual({ status: 'fulfilled', value: response });
        expect((await readAll(backend.log, run)).events).toHaveLength(4);
      }),
    );
  });

  it('lets an earlier attempt log before a later one starts, or not at all', async () => {
    await Promise.all(
      ROUNDS.map(async (id) => {
        const run = await launch(backend, tenant, id);
        const [appended, started] = await Promise.allSettled([
          backend.log.append(run, deltas(3, 2)),
          startRun(store, after(run)),
        ]);
        if (started.status === 'rejected') throw started.reason;
        const isLogged = appended.status === 'fulfilled';
        expect(started.value.log.events).toHaveLength(isLogged ? 5 : 3);
        expect((await readAll(backend.log, run)).events).toHaveLength(isLogged ? 5 : 3);
      }),
    );
  });

  describe('under the lease of a session', () => {
    const sessionId = 'session';

    it('ends while the lease is the latest', async () => {
      const lease = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      const run = await launch(backend, tenant, 'a', { sessionId });
      await store.finish(run, endingOf('a', { at: 3, fence: lease?.fence ?? -1 }));
      expect(await store.get(tenant, 'a')).toMatchObject({ status: 'completed' });
    });

    it('is refused, and goes on, when somebody else has taken the session', async () => {
      const lease = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      const run = await launch(backend, tenant, 'a', { sessionId });
      await opened.expireLeases();
      const next = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      const before = await stateOf('a');
      const late = store.finish(run, endingOf('a', { at: 3, fence: lease?.fence ?? -1 }));
      await expect(late).rejects.toBeInstanceOf(WriteLockLostError);
      expect(await stateOf('a')).toEqual(before);
      await store.finish(run, endingOf('a', { at: 3, fence: next?.fence ?? -1 }));
      expect(await store.get(tenant, 'a')).toMatchObject({ status: 'completed' });
    });

    it('is refused under the lease of another session or tenant', async () => {
      const run = await launch(backend, tenant, 'a', { sessionId });
      const others = [
        await backend.locks.tryAcquire(tenant, 'another', LEASE_MS),
        await backend.locks.tryAcquire(newTenant(), sessionId, LEASE_MS),
      ];
      for (const lease of others) {
        const late = store.finish(run, endingOf('a', { at: 3, fence: lease?.fence ?? -1 }));
        await expect(late).rejects.toBeInstanceOf(WriteLockLostError);
      }
      expect(await store.get(tenant, 'a')).toMatchObject({ status: 'in_progress' });
    });
  });

  if (name === 'postgres') {
    it('takes the same end a second time, for a connection that broke', async () => {
      const run = await launch(backend, tenant, 'a');
      const ending = endingOf('a', { at: 3 });
      await store.finish(run, ending);
      const before = await stateOf('a');
      await store.finish(run, ending);
      expect(await stateOf('a')).toEqual(before);
      await expect(store.finish(run, endingOf('a', { at: 3, status: 'failed' }))).rejects.toBeInstanceOf(RunLostError);
    });
  }
});
