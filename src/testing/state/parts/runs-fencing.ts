import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import {
  type BackgroundRuns,
  type ResponseStore,
  type Run,
  RunLostError,
  WriteLockLostError,
  type StateBackend,
} from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { LEASE_MS, newTenant } from '../records.js';
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
} from '../runs.js';
import type { TestedState } from '../tested-state.js';

const ROUNDS = Array.from({ length: 30 }, (_, round) => `r${round}`);

/** Only the latest attempt of a background response writes. */
export const RUNS_FENCING = part('runs', 'who may write of a background response', ({ share, it, describe }) => {
  let opened: TestedState;
  let backend: StateBackend;
  let store: ResponseStore;
  let runs: BackgroundRuns;
  let tenant: Tenant;

  share((state, newcomer) => {
    [opened, tenant] = [state, newcomer];
    ({ backend } = opened);
    ({ responses: store, runs } = backend);
  });

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
    'an end': (run) => runs.finish(run, endingOf(run.responseId, { at: 3 })),
    'an end with jobs': (run) =>
      runs.finish(run, endingOf(run.responseId, { at: 3, jobs: [{ queue: 'webhooks', data: {} }] })),
  };
  const writes = Object.entries(WRITES);
  const expectRefused = async (run: Run, write: (run: Run) => Promise<unknown>): Promise<void> => {
    const before = await stateOf(run.responseId);
    await assert.rejects(write(run), RunLostError);
    requireAlike(await stateOf(run.responseId), before);
  };

  for (const [title, write] of writes) {
    describe(title, () => {
      it('the attempt that has started writes to the run', async () => {
        const run = await launch(backend, tenant, 'a');
        const before = JSON.stringify(await startRun(runs, after(run)));
        await write(after(run));
        const next = await runs.start({ ...run, attempt: 3 });
        assert.notEqual(JSON.stringify(next), before);
      });

      it('an attempt that has not started is refused', async () => {
        await enqueue(runs, tenant, 'a');
        await expectRefused({ tenant, responseId: 'a', attempt: 1 }, write);
        const run = await launch(backend, tenant, 'b');
        await expectRefused(after(run), write);
      });

      it('an attempt is refused when a later one has started', async () => {
        const run = await launch(backend, tenant, 'a');
        await startRun(runs, after(run));
        await expectRefused(run, write);
        await runs.handBack(after(run));
        await expectRefused(run, write);
      });

      it('an attempt is refused once the response has ended', async () => {
        const run = await launch(backend, tenant, 'a');
        await runs.finish(run, endingOf('a', { at: 3, status: 'incomplete' }));
        await expectRefused(run, write);
      });

      it('an attempt is refused once the response was cancelled', async () => {
        const run = await launch(backend, tenant, 'a');
        await runs.conclude(tenant, 'a', () => cancelledOf('a', { at: 3 }), {});
        await expectRefused(run, write);
      });

      it('an attempt is refused at a response that is not known, and at one of another tenant', async () => {
        const run = await launch(backend, tenant, 'a');
        const before = await stateOf('a');
        await assert.rejects(write({ ...run, responseId: 'nothing' }), RunLostError);
        await assert.rejects(write({ ...run, tenant: newTenant() }), RunLostError);
        requireAlike(await stateOf('a'), before);
      });

      it('an attempt is refused at a response whose client waits for it', async () => {
        const record = { ...endingOf('a'), input: [], parentId: null, inherited: [], sessionId: 'a' };
        await store.save(tenant, record);
        const before = await store.get(tenant, 'a');
        await assert.rejects(write({ tenant, responseId: 'a', attempt: 1 }), RunLostError);
        await assert.rejects(write({ tenant, responseId: 'a', attempt: 0 }), RunLostError);
        requireAlike(await store.get(tenant, 'a'), before);
      });
    });
  }

  describe('a start', () => {
    for (const attempt of [0, 1, 2]) {
      it(`a start of attempt ${JSON.stringify(attempt)} is refused when attempt 2 has started`, async () => {
        await enqueue(runs, tenant, 'a');
        const run = { tenant, responseId: 'a', attempt: 2 };
        await startRun(runs, run);
        assert.equal(await runs.start({ ...run, attempt }), undefined);
        await backend.log.append(run, batch(2, begins(2)));
        assert.equal((await startRun(runs, { ...run, attempt: 3 })).attempts, 2);
      });
    }

    it('a start is refused once the response has ended', async () => {
      const run = await launch(backend, tenant, 'a');
      await runs.finish(run, endingOf('a', { at: 3 }));
      await enqueue(runs, tenant, 'b');
      await runs.conclude(tenant, 'b', () => cancelledOf('b'), {});
      assert.equal(await runs.start(after(run)), undefined);
      assert.equal(await runs.start({ tenant, responseId: 'b', attempt: 1 }), undefined);
    });

    it('a start is refused for what is not known, is of somebody else, or never waited', async () => {
      await enqueue(runs, tenant, 'a');
      const record = { ...endingOf('saved'), input: [], parentId: null, inherited: [], sessionId: 'a' };
      await store.save(tenant, record);
      assert.equal(await runs.start({ tenant, responseId: 'nothing', attempt: 1 }), undefined);
      assert.equal(await runs.start({ tenant: newTenant(), responseId: 'a', attempt: 1 }), undefined);
      assert.equal(await runs.start({ tenant, responseId: 'saved', attempt: 1 }), undefined);
    });

    it('a start of the same attempt succeeds once, however many start at once', async () => {
      await enqueue(runs, tenant, 'a');
      const starts = Array.from({ length: 5 }, () => runs.start({ tenant, responseId: 'a', attempt: 1 }));
      assert.equal((await Promise.all(starts)).filter((started) => started !== undefined).length, 1);
    });
  });

  it('the fence of runs does not let a lost attempt be handed back', async () => {
    const run = await launch(backend, tenant, 'a');
    await startRun(runs, after(run));
    await runs.handBack(run);
    await runs.handBack({ ...run, tenant: newTenant(), attempt: 2 });
    assert.equal((await startRun(runs, { ...run, attempt: 3 })).attempts, 3);
  });

  it('the fence of runs lets one of two finishers win, whoever they are', async () => {
    const winners = new Set<unknown>();
    await Promise.all(
      ROUNDS.map(async (id) => {
        const run = await launch(backend, tenant, id);
        const ends = [
          endingOf(id, { at: 3, status: 'completed' }),
          endingOf(id, { at: 3, status: 'incomplete' }),
          endingOf(id, { at: 3, status: 'failed' }),
        ];
        const outcomes = await Promise.allSettled(ends.map((ending) => runs.finish(run, ending)));
        const won = outcomes.flatMap(({ status }, index) => (status === 'fulfilled' ? [ends[index]] : []));
        assert.equal(won.length, 1);
        for (const outcome of outcomes) {
          if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof RunLostError);
        }
        requireAlike(await store.get(tenant, id), won[0]?.response);
        const { events, isLast } = await readAll(backend.log, run);
        requireAlike([events.length, isLast], [4, true]);
        assert.equal(events.at(-1)?.json, won[0]?.log.events[0]?.json);
        winners.add(won[0]?.response.status);
      }),
    );
    assert.ok(winners.size > 0);
  });

  it('the fence of runs lets a finisher or a canceller win, and both see the same end', async () => {
    await Promise.all(
      ROUNDS.map(async (id) => {
        const run = await launch(backend, tenant, id);
        const [finished, concluded] = await Promise.allSettled([
          runs.finish(run, endingOf(id, { at: 3 })),
          runs.conclude(tenant, id, () => cancelledOf(id, { at: 3 }), {}),
        ]);
        const response = await store.get(tenant, id);
        assert.equal(response?.status, finished.status === 'fulfilled' ? 'completed' : 'cancelled');
        requireAlike(concluded, { status: 'fulfilled', value: response });
        assert.equal((await readAll(backend.log, run)).events.length, 4);
      }),
    );
  });

  it('the fence of runs lets an earlier attempt log before a later one starts, or not at all', async () => {
    await Promise.all(
      ROUNDS.map(async (id) => {
        const run = await launch(backend, tenant, id);
        const [appended, started] = await Promise.allSettled([
          backend.log.append(run, deltas(3, 2)),
          startRun(runs, after(run)),
        ]);
        if (started.status === 'rejected') throw started.reason;
        const isLogged = appended.status === 'fulfilled';
        assert.equal(started.value.log.events.length, isLogged ? 5 : 3);
        assert.equal((await readAll(backend.log, run)).events.length, isLogged ? 5 : 3);
      }),
    );
  });

  describe('under the lease of a session', () => {
    const sessionId = 'session';

    it('a run under the lease of a session ends while the lease is the latest', async () => {
      const lease = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      const run = await launch(backend, tenant, 'a', { sessionId });
      await runs.finish(run, endingOf('a', { at: 3, fence: lease?.fence ?? -1 }));
      requireMatch(await store.get(tenant, 'a'), { status: 'completed' });
    });

    it('a run under the lease of a session is refused, and goes on, when somebody else has taken the session', async () => {
      const lease = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      const run = await launch(backend, tenant, 'a', { sessionId });
      await opened.expireLeases();
      const next = await backend.locks.tryAcquire(tenant, sessionId, LEASE_MS);
      const before = await stateOf('a');
      const late = runs.finish(run, endingOf('a', { at: 3, fence: lease?.fence ?? -1 }));
      await assert.rejects(late, WriteLockLostError);
      requireAlike(await stateOf('a'), before);
      await runs.finish(run, endingOf('a', { at: 3, fence: next?.fence ?? -1 }));
      requireMatch(await store.get(tenant, 'a'), { status: 'completed' });
    });

    it('a run is refused under the lease of another session or tenant', async () => {
      const run = await launch(backend, tenant, 'a', { sessionId });
      const others = [
        await backend.locks.tryAcquire(tenant, 'another', LEASE_MS),
        await backend.locks.tryAcquire(newTenant(), sessionId, LEASE_MS),
      ];
      for (const lease of others) {
        const late = runs.finish(run, endingOf('a', { at: 3, fence: lease?.fence ?? -1 }));
        await assert.rejects(late, WriteLockLostError);
      }
      requireMatch(await store.get(tenant, 'a'), { status: 'in_progress' });
    });
  });
});
