import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type {
  BackgroundRuns,
  ConcludeOptions,
  Ending,
  ResponseStore,
  StateBackend,
  UnfinishedResponse,
} from '../../../state/index.js';
import { requireAlike, requireMatch, requireRejection } from '../assertions.js';
import { Deliveries } from '../deliveries.js';
import { part } from '../part.js';
import { append, message, newTenant } from '../records.js';
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
} from '../runs.js';
import type { TestedState } from '../tested-state.js';

/** Background responses are ended from outside once, whatever their run does. */
export const RUNS_CONCLUDE = part(
  'runs',
  'ending a background response from outside',
  ({ openOnce, it, beforeEach, open }) => {
    let opened: TestedState;
    let backend: StateBackend;
    let store: ResponseStore;
    let runs: BackgroundRuns;
    let tenant: Tenant;
    /** A response, of another id in every test: notices of earlier tests may come late. */
    let one: string;
    let tests = 0;
    /** The notices of its ends, and what was composed. */
    let ended: string[];
    let composed: UnfinishedResponse[];

    openOnce((state) => {
      opened = state;
      ({ backend } = opened);
      ({ responses: store, runs } = backend);
      backend.runNotices.subscribe({ ended: (ids) => void ended.push(...ids.filter((id) => id === one)) });
    });
    beforeEach(() => {
      tenant = newTenant();
      tests += 1;
      one = `response-${tests}`;
      ended = [];
      composed = [];
    });

    const cancel = (
      id: string,
      options: ConcludeOptions = {},
      ending: (unfinished: UnfinishedResponse) => Ending = () => cancelledOf(id, { at: 3 }),
    ): ReturnType<BackgroundRuns['conclude']> =>
      runs.conclude(
        tenant,
        id,
        (unfinished) => {
          composed.push(unfinished);
          return ending(unfinished);
        },
        options,
      );

    it('a conclusion ends a response that waits', async () => {
      const { response, turn } = await enqueue(runs, tenant, one);
      const ending = cancelledOf(one, { at: 2 });
      requireAlike(await cancel(one, {}, () => ending), ending.response);
      requireAlike(composed, [{ response, turn, log: OPENING }]);
      requireAlike(await store.get(tenant, one), ending.response);
      requireMatch(await readAll(backend.log, { tenant, responseId: one }), {
        isLast: true,
        events: { length: 3 },
      });
      assert.ok(ended.includes(one));
    });

    it('a conclusion ends a response that runs with all that it has logged', async () => {
      const run = await launch(backend, tenant, one);
      await backend.log.append(run, { ...deltas(3, 2), notes: [dropped(3, 0)] });
      await backend.log.append(run, { ...batch(5, itemDone(5, 0, answer('x'))), firstNote: 1 });
      const given = [{ after: 1, items: [message('given')] }];
      const whole = cancelledOf(one, { at: 6, output: [answer('x')], given });
      const ending = { ...whole, log: { ...whole.log, firstNote: 1 } };
      requireAlike(await cancel(one, {}, () => ending), ending.response);
      requireAlike(
        composed[0]?.log.events.map(({ sequenceNumber }) => sequenceNumber),
        [0, 1, 2, 3, 4, 5],
      );
      requireAlike(composed[0]?.log.notes, [dropped(3, 0)]);
      requireAlike(await store.get(tenant, one), ending.response);
      assert.equal((await readAll(backend.log, run)).events.length, 7);
    });

    for (const status of ['completed', 'incomplete', 'failed', 'cancelled'] as const) {
      it(`a conclusion leaves a response that has ended ${status}`, async () => {
        const run = await launch(backend, tenant, one);
        const { response } = endingOf(one, { at: 3, status });
        await (status === 'cancelled' ? cancel(one) : runs.finish(run, endingOf(one, { at: 3, status })));
        [ended, composed] = [[], []];
        const log = await readAll(backend.log, run);
        requireMatch(await cancel(one), { id: one, status });
        if (status !== 'cancelled') requireAlike(await cancel(one), response);
        requireAlike(composed, []);
        // The notice of its own cancellation may come late.
        if (status !== 'cancelled') requireAlike(ended, []);
        requireAlike(await readAll(backend.log, run), log);
      });
    }

    it('a conclusion finds nothing that is unknown, deleted, of somebody else, or outside of the session', async () => {
      await launch(backend, tenant, one, { sessionId: 's' });
      await enqueue(runs, tenant, 'deleted');
      await store.delete(tenant, 'deleted', { cascade: false });
      assert.equal(await cancel('nothing'), undefined);
      assert.equal(await cancel('deleted'), undefined);
      assert.equal(await cancel(one, { within: 'elsewhere' }), undefined);
      assert.equal(await runs.conclude(newTenant(), one, () => cancelledOf(one), {}), undefined);
      requireAlike(composed, []);
      requireMatch(await store.get(tenant, one), { status: 'in_progress' });
      requireMatch(await cancel(one, { within: 's' }), { status: 'cancelled' });
    });

    it('a conclusion finds nothing that never was in the background', async () => {
      const { response } = await append(store, tenant, one);
      assert.equal(await cancel(one), undefined);
      requireAlike(composed, []);
      requireAlike(await store.get(tenant, one), response);
    });

    it('a conclusion leaves a response to a later attempt than the one that is meant', async () => {
      const run = await launch(backend, tenant, one);
      await backend.log.append(run, batch(3, itemDone(3, 0, answer('x'))));
      await startRun(runs, after(run));
      const shown = await store.get(tenant, one);
      requireAlike(await cancel(one, { attempt: 1 }), shown);
      requireAlike(await cancel(one, { attempt: 3 }), shown);
      requireMatch(shown, { status: 'in_progress', output: [answer('x')] });
      requireAlike(composed, []);
      requireAlike(ended, []);
      requireMatch(await cancel(one, { attempt: 2 }, () => cancelledOf(one, { at: 4 })), { status: 'cancelled' });
    });

    it('a conclusion happens once, however many want it, and gives all of them the same', async () => {
      await launch(backend, tenant, one);
      const answers = await Promise.all(
        Array.from({ length: 5 }, (_, index) =>
          cancel(one, {}, () => cancelledOf(one, { at: 3, metadata: { by: String(index) } })),
        ),
      );
      assert.equal(composed.length, 1);
      assert.equal(new Set(answers.map((response) => JSON.stringify(response))).size, 1);
      assert.equal((await readAll(backend.log, { tenant, responseId: one })).events.length, 4);
    });

    it('a conclusion changes nothing when no end can be composed', async () => {
      const run = await launch(backend, tenant, one);
      const failed = cancel(one, {}, () => {
        throw new TypeError('the test says so');
      });
      await requireRejection(failed, 'the test says so');
      requireAlike(ended, []);
      await backend.log.append(run, deltas(3, 1));
      requireMatch(await store.get(tenant, one), { status: 'in_progress' });
    });

    it('a conclusion lets nothing be logged between what was composed and its end', async () => {
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
          assert.equal(seen, 3 + (await appended));
          requireAlike(
            (await readAll(backend.log, run)).events.map(({ sequenceNumber }) => sequenceNumber),
            Array.from({ length: seen + 1 }, (__, number) => number),
          );
        }),
      );
    });

    it('a conclusion leaves a response alone that it does not end, and its run logs on elsewhere', async () => {
      const elsewhere = (await opened.replica?.()) ?? backend;
      const run = await launch(elsewhere, tenant, one);
      requireMatch(await runs.conclude(tenant, one, () => undefined, {}), { status: 'in_progress' });
      await elsewhere.log.append(run, deltas(3, 1));
      await elsewhere.runs.finish(run, endingOf(one, { at: 4 }));
      requireMatch(await cancel(one), { status: 'completed' });
    });

    for (const how of ['cancelled', 'finished']) {
      it(`a conclusion enqueues the jobs of what is ${how}, once`, async () => {
        await using other = await open();
        const { runs: own, jobs } = other.backend;
        const run = await launch(other.backend, tenant, one);
        const ending = endingOf(one, { at: 3, jobs: [{ queue: 'webhooks', data: { of: 'a' } }] });
        const end = (): Promise<unknown> =>
          how === 'cancelled' ? own.conclude(tenant, one, () => ending, {}) : own.finish(run, ending);
        await end();
        await end().catch(() => undefined);
        await other.enqueue({ queue: 'webhooks', data: { of: 'the test' } });
        const worker = await Deliveries.of(jobs, { concurrency: 1 }, 'webhooks');
        (await worker.at(0)).done();
        await worker.at(1);
        await worker.stop();
        requireAlike(worker.data, [{ of: 'a' }, { of: 'the test' }]);
      });
    }
  },
);
