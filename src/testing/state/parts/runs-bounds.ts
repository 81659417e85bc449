import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import {
  type QueueBounds,
  QueueFullError,
  type BackgroundRuns,
  type ResponseStore,
  type StateBackend,
} from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { Deliveries } from '../deliveries.js';
import { part } from '../part.js';
import { newTenant, recordOf, START } from '../records.js';
import { batch, begins, cancelledOf, NO_BOUNDS, queuedOf, startRun } from '../runs.js';

/** The queue of background responses takes no more than its bounds. */
export const RUNS_BOUNDS = part('runs', 'the bounds of the queue', ({ openEach, it }) => {
  const [tenant, other] = [newTenant(), newTenant()];
  let backend: StateBackend;
  let store: ResponseStore;
  let runs: BackgroundRuns;

  openEach((opened) => {
    ({ backend } = opened);
    ({ responses: store, runs } = backend);
  });

  const create = (id: string, bounds: Partial<QueueBounds>, of: Tenant = tenant): Promise<void> =>
    runs.create(of, queuedOf(id), { ...NO_BOUNDS, ...bounds });
  const createAll = async (bounds: Partial<QueueBounds>, ...ids: readonly string[]): Promise<void> => {
    for (const id of ids) await create(id, bounds);
  };
  const requireRefusal = async (creation: Promise<void>, text = ''): Promise<void> => {
    const error: unknown = await creation.catch((thrown: unknown) => thrown);
    assert.ok(error instanceof QueueFullError);
    const { status, message } = error.toApiError();
    assert.deepEqual([status, message.slice(0, text.length)], [429, text]);
  };

  it('the bounds of the queue refuse what is beyond those of a tenant, and only to it', async () => {
    const bounds = { perTenant: 2 };
    await createAll(bounds, 'a', 'b');
    await requireRefusal(create('c', bounds), 'You have');
    assert.equal(await store.get(tenant, 'c'), undefined);
    await create('c', bounds, other);
  });

  it('the bounds of the queue refuse what is beyond those of all, to everybody', async () => {
    const bounds = { total: 2 };
    await createAll(bounds, 'a', 'b');
    await requireRefusal(create('c', bounds), 'The server has');
    await requireRefusal(create('c', bounds, other), 'The server has');
  });

  const WAYS_OUT: Readonly<Record<string, () => Promise<unknown>>> = {
    begins: async () => {
      const run = { tenant, responseId: 'a', attempt: 1 };
      await startRun(runs, run);
      await backend.log.append(run, batch(2, begins(2)));
    },
    'is cancelled': () => runs.conclude(tenant, 'a', () => cancelledOf('a'), {}),
    'is deleted': () => store.delete(tenant, 'a', { cascade: false }),
    'is deleted, but not freed': async () => {
      await store.save(tenant, recordOf('child', { parentId: 'a' }));
      await store.delete(tenant, 'a', { cascade: false });
    },
    'goes with its session': () => backend.sessions.delete(tenant, 'a'),
  };

  for (const [title, leave] of Object.entries(WAYS_OUT)) {
    it(`the bounds of the queue make room when one ${title}`, async () => {
      const bounds = { total: 2, perTenant: 2 };
      await createAll(bounds, 'a', 'b');
      await requireRefusal(create('c', bounds));
      await leave();
      await create('c', bounds);
      await requireRefusal(create('d', bounds));
    });
  }

  it('the bounds of the queue count one that was started, but has not begun', async () => {
    await create('a', { perTenant: 1 });
    await startRun(runs, { tenant, responseId: 'a', attempt: 1 });
    await requireRefusal(create('b', { perTenant: 1 }));
  });

  it('the bounds of the queue hold for 30 that are created at once', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `r${index}`);
    const outcomes = await Promise.allSettled(ids.map((id) => create(id, { perTenant: 7 })));
    assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 7);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.ok(outcome.reason instanceof QueueFullError);
    }
    assert.equal((await runs.queuedBefore(START + 1, 100)).length, 7);
  });

  it('the bounds of the queue leave no job of what they refuse, and one of what they admit', async () => {
    await create('a', { perTenant: 1 });
    await requireRefusal(create('b', { perTenant: 1 }));
    await create('c', {});
    const worker = await Deliveries.of(backend.jobs, { concurrency: 1 });
    (await worker.at(0)).done();
    await worker.at(1);
    await worker.stop();
    requireAlike(worker.data, [{ id: 'a' }, { id: 'c' }]);
  });
});
