import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import { type BackgroundRuns, type ResponseStore, RunLostError, type StateBackend } from '../../../state/index.js';
import { requireAlike } from '../assertions.js';
import { heardBy } from '../heard.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, purge, recordOf } from '../records.js';
import { after, batch, cancelledOf, deltas, endingOf, enqueue, launch, startRun } from '../runs.js';
import type { TestedState } from '../tested-state.js';

/** Often enough that every order of steps comes up. */
const ROUNDS = Array.from({ length: 60 }, (_, round) => `r${round}`);

/** Background responses are deleted while they wait, run, or have ended. */
export const RUNS_DELETION = part('runs', 'deletion of background responses', ({ share, it, describe, beforeEach }) => {
  let tenant: Tenant;
  /** The content of the backend before the case: data of other cases. */
  let others: number;
  let opened: TestedState;
  let backend: StateBackend;
  let store: ResponseStore;
  let runs: BackgroundRuns;

  share(async (state, newcomer) => {
    [opened, tenant] = [state, newcomer];
    ({ backend } = opened);
    ({ responses: store, runs } = backend);
    await purge(store);
    others = await opened.content();
  });

  const remove = (id: string): Promise<number> => store.delete(tenant, id, { cascade: false });
  const expectNothingKept = async (): Promise<void> => {
    await purge(store);
    assert.equal(await opened.content(), others);
  };

  const WAYS: Readonly<Record<string, () => Promise<unknown>>> = {
    'itself is deleted': () => remove('a'),
    'its parent is deleted with all that continues it': () => store.delete(tenant, 'root', { cascade: true }),
    'its session is deleted': () => backend.sessions.delete(tenant, 's'),
  };

  for (const [title, leave] of Object.entries(WAYS)) {
    describe(`when ${title}`, () => {
      beforeEach(() => append(store, tenant, 'root', { sessionId: 's' }));

      it('a deletion ends the run: nothing can be written any more', async () => {
        const heard = heardBy(backend);
        const run = await launch(backend, tenant, 'a', { parentId: 'root', sessionId: 's' });
        // Needs its parent, which is therefore not freed.
        await store.save(tenant, recordOf('child', { parentId: 'a' }));
        await leave();
        assert.ok(heard.has('a'));
        await assert.rejects(backend.log.append(run, deltas(3, 1)), RunLostError);
        await assert.rejects(runs.finish(run, endingOf('a', { at: 3 })), RunLostError);
        await runs.handBack(run);
        assert.equal(await runs.start(after(run)), undefined);
        assert.equal(await runs.conclude(tenant, 'a', () => cancelledOf('a'), {}), undefined);
        assert.equal(await store.get(tenant, 'a'), undefined);
        assert.equal(await backend.log.read(tenant, 'a', -1), undefined);
      });

      it('a deletion takes back a response that waits, and one that was started', async () => {
        await enqueue(runs, tenant, 'a', { parentId: 'root', sessionId: 's' });
        const run = { tenant, responseId: 'a', attempt: 1 };
        await startRun(runs, run);
        await leave();
        requireAlike(await runs.queuedBefore(Number.MAX_SAFE_INTEGER / 2000, 10), []);
        await assert.rejects(backend.log.append(run, batch(2)), RunLostError);
        assert.equal(await runs.start(after(run)), undefined);
      });

      it('a deletion leaves nothing behind', async () => {
        const run = await launch(backend, tenant, 'a', { parentId: 'root', sessionId: 's' });
        await backend.log.append(run, deltas(3, 10));
        await leave();
        await store.delete(tenant, 'root', { cascade: true });
        await expectNothingKept();
      });
    });
  }

  it('a deletion leaves a response to those that continue it, without its events', async () => {
    const run = await launch(backend, tenant, 'a');
    await runs.finish(run, endingOf('a', { at: 3 }));
    await append(store, tenant, 'b', { parentId: 'a' });
    assert.equal(await remove('a'), 1);
    assert.equal(await backend.log.read(tenant, 'a', -1), undefined);
    requireAlike(await contextOf(store, tenant, 'b'), contextFrom('a', 'b'));
    await remove('b');
    await expectNothingKept();
  });

  it('a deletion does not stop a run whose parent goes alone', async () => {
    await append(store, tenant, 'root');
    const run = await launch(backend, tenant, 'a', { parentId: 'root' });
    await remove('root');
    await purge(store);
    await runs.finish(run, endingOf('a', { at: 3 }));
    requireAlike(await contextOf(store, tenant, 'a'), contextFrom('root', 'a'));
    await remove('a');
    await expectNothingKept();
  });

  /** What may come at the same time as a deletion. None of it brings back what was deleted. */
  const MEANWHILE: Readonly<Record<string, (id: string) => Promise<unknown>>> = {
    finish: (id) => runs.finish({ tenant, responseId: id, attempt: 1 }, endingOf(id, { at: 3 })),
    'finish with jobs': (id) => {
      const jobs = [{ queue: 'webhooks', data: { id } }] as const;
      return runs.finish({ tenant, responseId: id, attempt: 1 }, endingOf(id, { at: 3, jobs }));
    },
    append: (id) => backend.log.append({ tenant, responseId: id, attempt: 1 }, deltas(3, 2)),
    start: (id) => runs.start({ tenant, responseId: id, attempt: 2 }),
    conclude: (id) => runs.conclude(tenant, id, () => cancelledOf(id, { at: 3 }), {}),
  };

  for (const [name, write] of Object.entries(MEANWHILE)) {
    it(`a deletion wins over ${name} at the same time`, async () => {
      await Promise.all(
        ROUNDS.map(async (id) => {
          await launch(backend, tenant, id);
          const [written, deleted] = await Promise.allSettled([write(id), remove(id)]);
          if (written.status === 'rejected') assert.ok(written.reason instanceof RunLostError);
          if (name === 'start' || name === 'conclude') assert.equal(written.status, 'fulfilled');
          requireAlike(deleted, { status: 'fulfilled', value: 1 });
          assert.equal(await store.get(tenant, id), undefined);
        }),
      );
      await expectNothingKept();
    });
  }
});
