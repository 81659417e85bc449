import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import { type QueueBounds, QueueFullError, type ResponseStore, type StateBackend } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { Deliveries } from './deliveries.js';
import { newTenant, recordOf, START } from './records.js';
import { batch, begins, cancelledOf, NO_BOUNDS, queuedOf, startRun } from './runs.js';

describe.each(BACKENDS)('the bounds of the queue in $name', ({ name, open }) => {
  const [tenant, other] = [newTenant(), newTenant()];
  let opened: OpenedBackend;
  let backend: StateBackend;
  let store: ResponseStore;

  beforeEach(async () => {
    opened = await open();
    ({ backend } = opened);
    store = backend.responses;
  });
  afterEach(() => opened.close());

  const create = (id: string, bounds: Partial<QueueBounds>, of: Tenant = tenant): Promise<void> =>
    store.create(of, queuedOf(id), { ...NO_BOUNDS, ...bounds });
  const createAll = async (bounds: Partial<QueueBounds>, ...ids: readonly string[]): Promise<void> => {
    for (const id of ids) await create(id, bounds);
  };
  const refusal = async (creation: Promise<void>): Promise<unknown> => {
    const error: unknown = await creation.catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(QueueFullError);
    return (error as QueueFullError).toApiError();
  };

  it('refuse what is beyond those of a tenant, and only to it', async () => {
    const bounds = { perTenant: 2 };
    await createAll(bounds, 'a', 'b');
    expect(await refusal(create('c', bounds))).toMatchObject({
      status: 429,
      message: expect.stringMatching(/^You have/),
    });
    expect(await store.get(tenant, 'c')).toBeUndefined();
    await create('c', bounds, other);
  });

  it('refuse what is beyond those of all, to everybody', async () => {
    const bounds = { total: 2 };
    await createAll(bounds, 'a', 'b');
    const refused = { status: 429, headers: { 'retry-after': '5' }, message: expect.stringMatching(/^The server has/) };
    expect(await refusal(create('c', bounds))).toMatchObject(refused);
    expect(await refusal(create('c', bounds, other))).toMatchObject(refused);
  });

  const WAYS_OUT: Readonly<Record<string, () => Promise<unknown>>> = {
    begins: async () => {
      const run = { tenant, responseId: 'a', attempt: 1 };
      await startRun(store, run);
      await backend.log.append(run, batch(2, begins(2)));
    },
    'is cancelled': () => store.conclude(tenant, 'a', () => cancelledOf('a'), {}),
    'is deleted': () => store.delete(tenant, 'a', { cascade: false }),
    'is deleted, but not freed': async () => {
      await store.save(tenant, recordOf('child', { parentId: 'a' }));
      await store.delete(tenant, 'a', { cascade: false });
    },
    'goes with its session': () => backend.sessions.delete(tenant, 'a'),
  };

  it.each(Object.entries(WAYS_OUT))('make room when one %s', async (_, leave) => {
    const bounds = { total: 2, perTenant: 2 };
    await createAll(bounds, 'a', 'b');
    await refusal(create('c', bounds));
    await leave();
    await create('c', bounds);
    await refusal(create('d', bounds));
  });

  it('count one that was started, but has not begun', async () => {
    await create('a', { perTenant: 1 });
    await startRun(store, { tenant, responseId: 'a', attempt: 1 });
    await refusal(create('b', { perTenant: 1 }));
  });

  it('hold for 30 that are created at once', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `r${index}`);
    const outcomes = await Promise.allSettled(ids.map((id) => create(id, { perTenant: 7 })));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(7);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(QueueFullError);
    }
    expect(await store.queuedBefore(START + 1, 100)).toHaveLength(7);
  });

  it('leave no job of what they refuse, and one of what they admit', async () => {
    await create('a', { perTenant: 1 });
    await refusal(create('b', { perTenant: 1 }));
    if (name === 'postgres') {
      // Fails in the middle of the transaction.
      await expect(create('a', {})).rejects.toThrow();
    }
    await create('c', {});
    const worker = await Deliveries.of(backend.jobs, { concurrency: 1 });
    (await worker.at(0)).done();
    await worker.at(1);
    await worker.stop();
    expect(worker.data).toEqual([{ id: 'a' }, { id: 'c' }]);
  });
});
