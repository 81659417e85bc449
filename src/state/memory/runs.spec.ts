import { describe, expect, it } from '@jest/globals';

import {
  append,
  cancelledOf,
  Deliveries,
  deltas,
  endingOf,
  enqueue,
  launch,
  message,
  newTenant,
  NO_BOUNDS,
  queuedOf,
} from '../../testing/state/index.js';
import { FakeClock } from '../../testing/index.js';
import { QueueFullError, StoreUnavailableError } from '../errors.js';
import { MemoryBackend } from './backend.js';
import { MemoryRuns } from './runs.js';

const MEGABYTE = 1024 * 1024;
/** A text that takes a quarter of the memory limit. */
const QUARTER = 'x'.repeat(MEGABYTE / 8);
const tenant = newTenant();

describe(MemoryRuns.name, () => {
  const open = (maxResponses: number): MemoryBackend =>
    new MemoryBackend({ MEMORY_MAX_BYTES: MEGABYTE, MEMORY_MAX_RESPONSES: maxResponses }, new FakeClock());
  const found = async ({ responses }: MemoryBackend, ...ids: readonly string[]): Promise<readonly string[]> => {
    const all = await Promise.all(ids.map((id) => responses.get(tenant, id)));
    return all.flatMap((response) => (response === undefined ? [] : [response.id]));
  };

  it('the memory drops nothing that has not ended, however many there are', async () => {
    const backend = open(2);
    await launch(backend, tenant, 'running');
    await enqueue(backend.runs, tenant, 'waiting');
    for (const id of ['1', '2', '3', '4']) await append(backend.responses, tenant, id);
    await enqueue(backend.runs, tenant, 'another');
    expect(await found(backend, 'running', 'waiting', 'another')).toEqual(['running', 'waiting', 'another']);
    expect(await found(backend, '1', '2', '3', '4')).toEqual(['3', '4']);
  });

  it('the memory refuses what would leave no room for responses that have ended, and drops nothing that has not', async () => {
    const backend = open(100);
    const add = (id: string): Promise<unknown> =>
      enqueue(backend.runs, tenant, id, { input: [message(`${id}-in`, QUARTER)] });
    for (const id of ['1', '2']) await add(id);
    await expect(add('3')).rejects.toBeInstanceOf(QueueFullError);
    expect(await found(backend, '1', '2', '3')).toEqual(['1', '2']);
    await backend.runs.conclude(tenant, '1', () => cancelledOf('1'), {});
    await add('3');
    await backend.responses.delete(tenant, '2', { cascade: false });
    await add('4');
  });

  it.each(['finished', 'cancelled'])(
    'the memory drops what has ended in the order of the ends, when it is %s',
    async (how) => {
      const backend = open(2);
      const { runs } = backend;
      const end = async (id: string): Promise<unknown> => {
        if (how === 'cancelled') return runs.conclude(tenant, id, () => cancelledOf(id, { at: 3 }), {});
        return runs.finish({ tenant, responseId: id, attempt: 1 }, endingOf(id, { at: 3 }));
      };
      for (const id of ['1', '2', '3']) await launch(backend, tenant, id);
      await end('3');
      await end('1');
      expect(await found(backend, '1', '2', '3')).toEqual(['1', '2', '3']);
      await end('2');
      expect(await found(backend, '1', '2', '3')).toEqual(['1', '2']);
    },
  );

  it('the memory counts the events of what has ended', async () => {
    const backend = open(100);
    const log = deltas(3, 4000);
    for (const id of ['1', '2', '3']) {
      const run = await launch(backend, tenant, id);
      await backend.log.append(run, log);
      await backend.runs.finish(run, endingOf(id, { at: 4003 }));
    }
    expect(await found(backend, '1', '2', '3')).toEqual(['3']);
  });

  it('the memory keeps nothing of what can never fit, neither its place nor its job', async () => {
    const backend = open(5);
    const big = queuedOf('big', { input: [message('big-in', 'x'.repeat(MEGABYTE / 2))] });
    await expect(backend.runs.create(tenant, big, NO_BOUNDS)).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await found(backend, 'big')).toEqual([]);
    await backend.runs.create(tenant, queuedOf('small'), { total: 1, perTenant: 1 });
    const worker = await Deliveries.of(backend.jobs);
    await worker.at(0);
    await worker.stop();
    expect(worker.data).toEqual([{ id: 'small' }]);
  });
});
