import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type {
  ConcludeOptions,
  Ending,
  ResponseStore,
  StateBackend,
  UnfinishedResponse,
} from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { Deliveries } from './deliveries.js';
import { append, message, newTenant } from './records.js';
import {
  after,
  answer,
  batch,
  cancelledOf,
  deltas,
  dropped,
  endingOf,
  enqueue,
  itemDone,
  launch,
  OPENING,
  readAll,
  startRun,
} from './runs.js';

describe.each(BACKENDS)('ending a background response from outside in $name', ({ open }) => {
  let opened: OpenedBackend;
  let backend: StateBackend;
  let store: ResponseStore;
  let tenant: Tenant;
  /** A response, of another id in every test: notices of earlier tests may come late. */
  let one: string;
  let tests = 0;
  /** The notices of its ends, and what was composed. */
  let ended: string[];
  let composed: UnfinishedResponse[];

  beforeAll(async () => {
    opened = await open();
    ({ backend } = opened);
    store = backend.responses;
    backend.runNotices.subscribe({ ended: (ids) => void ended.push(...ids.filter((id) => id === one)) });
  });
  beforeEach(() => {
    tenant = newTenant();
    tests += 1;
    one = `response-${tests}`;
    ended = [];
    composed = [];
  });
  afterAll(() => opened.close());

  const cancel = (
    id: string,
    options: ConcludeOptions = {},
    ending: (unfinished: UnfinishedResponse) => Ending = () => cancelledOf(id, { at: 3 }),
  ): ReturnType<ResponseStore['conclude']> =>
    store.conclude(
      tenant,
      id,
      (unfinished) => {
        composed.push(unfinished);
        return ending(unfinished);
      },
      options,
    );

  it('ends one that waits', async () => {
    const { response, turn } = await enqueue(store, tenant, one);
    const ending = cancelledOf(one, { at: 2 });
    expect(await cancel(one, {}, () => ending)).toEqual(ending.response);
    expect(composed).toEqual([{ response, turn, log: OPENING }]);
    expect(await store.get(tenant, one)).toEqual(ending.response);
    expect(await readAll(backend.log, { tenant, responseId: one })).toMatchObject({
      isLast: true,
      events: { length: 3 },
    });
    expect(ended).toContain(one);
  });

  it('ends one that runs with all that it has logged', async () => {
    const run = await launch(backend, tenant, one);
    await backend.log.append(run, { ...deltas(3, 2), notes: [dropped(3, 0)] });
    await backend.log.append(run, { ...batch(5, itemDone(5, 0, answer('x'))), firstNote: 1 });
    const given = [{ after: 1, items: [message('given')] }];
    const whole = cancelledOf(one, { at: 6, output: [answer('x')], given });
    const ending = { ...whole, log: { ...whole.log, firstNote: 1 } };
    expect(await cancel(one, {}, () => ending)).toEqual(ending.response);
    expect(composed[0]?.log.events.map(({ sequenceNumber }) => sequenceNumber)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(composed[0]?.log.notes).toEqual([dropped(3, 0)]);
    expect(await store.get(tenant, one)).toEqual(ending.response);
    expect((await readAll(backend.log, run)).events).toHaveLength(7);
  });

  it.each(['completed', 'incomplete', 'failed', 'cancelled'] as const)(
    'leaves one that has ended %s',
    async (status) => {
      const run = await launch(backend, tenant, one);
      const { response } = endingOf(one, { at: 3, status });
      await (status === 'cancelled' ? cancel(one) : store.finish(run, endingOf(one, { at: 3, status })));
      [ended, composed] = [[], []];
      const log = await readAll(backend.log, run);
      expect(await cancel(one)).toMatchObject({ id: one, status });
      if (status !== 'cancelled') expect(await cancel(one)).toEqual(response);
      expect(composed).toEqual([]);
      // The notice of its own cancellation may come late.
      if (status !== 'cancelled') expect(ended).toEqual([]);
      expect(await readAll(backend.log, run)).toEqual(log);
    },
  );

  it('finds nothing that is unknown, deleted, of somebody else, or outside of the session', async () => {
    await launch(backend, tenant, one, { sessionId: 's' });
    await enqueue(store, tenant, 'deleted');
    await store.delete(tenant, 'deleted', { cascade: false });
    expect(await cancel('nothing')).toBeUndefined();
    expect(await cancel('deleted')).toBeUndefined();
    expect(await cancel(one, { within: 'elsewhere' })).toBeUndefined();
    expect(await store.conclude(newTenant(), one, () => cancelledOf(one), {})).toBeUndefined();
    expect(composed).toEqual([]);
    expect(await store.get(tenant, one)).toMatchObject({ status: 'in_progress' });
    expect(await cancel(one, { within: 's' })).toMatchObject({ status: 'cancelled' });
  });

  it('finds nothing that never was in the background', async () => {
    const { response } = await append(store, tenant, one);
    expect(await cancel(one)).toBeUndefined();
    expect(composed).toEqual([]);
    expect(await store.get(tenant, one)).toEqual(response);
  });

  it('leaves a response to a later attempt than the one that is meant', async () => {
    const run = await launch(backend, tenant, one);
    await backend.log.append(run, batch(3, itemDone(3, 0, answer('x'))));
    await startRun(store, after(run));
    const shown = await store.get(tenant, one);
    expect(await cancel(one, { attempt: 1 })).toEqual(shown);
    expect(await cancel(one, { attempt: 3 })).toEqual(shown);
    expect(shown).toMatchObject({ status: 'in_progress', output: [answer('x')] });
    expect(composed).toEqual([]);
    expect(ended).toEqual([]);
    expect(await cancel(one, { attempt: 2 }, () => cancelledOf(one, { at: 4 }))).toMatchObject({ status: 'cancelled' });
  });

  it('happens once, however many want it, and gives all of them the same', async () => {
    await launch(backend, tenant, one);
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        cancel(one, {}, () => cancelledOf(one, { at: 3, metadata: { by: String(index) } })),
      ),
    );
    expect(composed).toHaveLength(1);
    expect(new Set(answers.map((response) => JSON.stringify(response))).size).toBe(1);
    expect((await readAll(backend.log, { tenant, responseId: one })).events).toHaveLength(4);
  });

  it('changes nothing when no end can be composed', async () => {
    const run = await launch(backend, tenant, one);
    const failed = cancel(one, {}, () => {
      throw new TypeError('the test says so');
    });
    await expect(failed).rejects.toThrow('the test says so');
    expect(ended).toEqual([]);
    await backend.log.append(run, deltas(3, 1));
    expect(await store.get(tenant, one)).toMatchObject({ status: 'in_progress' });
  });

  it('lets nothing be logged between what was composed and its end', async () => {
    await Promise.all(
      Array.from({ length: 20 }, async (_, round) => {
        const id = `r${round}`;
        const run = await launch(backend, tenant, id);
        let seen = 0;
        const end = cancel(id, {}, ({ log: { events } }) => {
          seen = events.length;
          return cancelledOf(id, { at: seen });
        });
        const appended = backend.log.append(run, deltas(3, 1)).then(
          () => 1,
          () => 0,
        );
        await end;
        expect(seen).toBe(3 + (await appended));
        expect((await readAll(backend.log, run)).events.map(({ sequenceNumber }) => sequenceNumber)).toEqual(
          Array.from({ length: seen + 1 }, (__, number) => number),
        );
      }),
    );
  });

  it.each(['cancelled', 'finished'])('enqueues the jobs of what is %s, once', async (how) => {
    await using other = await open();
    const { responses, jobs } = other.backend;
    const run = await launch(other.backend, tenant, one);
    const ending = endingOf(one, { at: 3, jobs: [{ queue: 'webhooks', data: { of: 'a' } }] });
    const end = (): Promise<unknown> =>
      how === 'cancelled' ? responses.conclude(tenant, one, () => ending, {}) : responses.finish(run, ending);
    await end();
    await end().catch(() => undefined);
    await other.enqueue({ queue: 'webhooks', data: { of: 'the test' } });
    const worker = await Deliveries.of(jobs, { concurrency: 1 }, 'webhooks');
    (await worker.at(0)).done();
    await worker.at(1);
    await worker.stop();
    expect(worker.data).toEqual([{ of: 'a' }, { of: 'the test' }]);
  });
});
