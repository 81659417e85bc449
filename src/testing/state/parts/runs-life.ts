import assert from 'node:assert/strict';

import type { Tenant } from '../../../access/index.js';
import type { Origin, ResponseObject } from '../../../protocol/index.js';
import type { BackgroundRuns, ResponseGraph, ResponseStore, StateBackend } from '../../../state/index.js';
import { requireAlike, requireMatch } from '../assertions.js';
import { part } from '../part.js';
import { append, contextFrom, contextOf, message, newTenant, START, TTL_MS } from '../records.js';
import {
  after,
  answer,
  batch,
  begins,
  deltas,
  dropped,
  endingOf,
  enqueue,
  event,
  itemDone,
  launch,
  NO_BOUNDS,
  OPENING,
  queuedOf,
  startRun,
} from '../runs.js';

const PAGE = { limit: 10, order: 'asc' } as const;
const ORIGIN: Origin = { provider: 'p', model: 'm', upstreamId: 'u' };

/** A background response from its creation to its end. */
export const RUNS_LIFE = part('runs', 'the life of a background response', ({ share, it, describe, open }) => {
  let backend: StateBackend;
  let store: ResponseStore;
  let runs: BackgroundRuns;
  let graph: ResponseGraph;
  let tenant: Tenant;

  share((opened, newcomer) => {
    [backend, tenant] = [opened.backend, newcomer];
    ({ responses: store, runs, graph } = backend);
  });

  const idsOf = (items: readonly { readonly id: string }[] | undefined): unknown => items?.map(({ id }) => id);
  const listed = async (status: ResponseObject['status']): Promise<unknown> =>
    idsOf((await graph.list(tenant, { statuses: [status] }, PAGE)).data);
  const outputOf = async (id: string): Promise<unknown> => idsOf((await store.get(tenant, id))?.output);

  it('a background response goes from queued over in_progress to its end', async () => {
    const { response } = await enqueue(runs, tenant, 'a');
    requireAlike(await store.get(tenant, 'a'), response);
    const run = { tenant, responseId: 'a', attempt: 1 };
    await startRun(runs, run);
    requireAlike(await store.get(tenant, 'a'), response);
    await backend.log.append(run, batch(2, begins(2)));
    requireAlike(await store.get(tenant, 'a'), { ...response, status: 'in_progress' });
    const ending = endingOf('a', { at: 3 });
    await runs.finish(run, ending);
    requireAlike(await store.get(tenant, 'a'), ending.response);
  });

  for (const status of ['completed', 'incomplete', 'failed'] as const) {
    it(`a background response ends ${status}`, async () => {
      const run = await launch(backend, tenant, 'a');
      const ending = endingOf('a', { at: 3, status });
      await runs.finish(run, ending);
      requireAlike(await store.get(tenant, 'a'), ending.response);
      requireAlike(await listed(status), ['a']);
    });
  }

  it('a background response is listed by its status of the moment', async () => {
    await enqueue(runs, tenant, 'a');
    requireAlike([await listed('queued'), await listed('in_progress'), await listed('completed')], [['a'], [], []]);
    const run = { tenant, responseId: 'a', attempt: 1 };
    await startRun(runs, run);
    await backend.log.append(run, batch(2, begins(2)));
    requireAlike([await listed('queued'), await listed('in_progress'), await listed('completed')], [[], ['a'], []]);
    await runs.finish(run, endingOf('a', { at: 3 }));
    requireAlike([await listed('queued'), await listed('in_progress'), await listed('completed')], [[], [], ['a']]);
  });

  it('a background response shows the items that are finished so far, by their place, without what was dropped', async () => {
    const run = await launch(backend, tenant, 'a');
    requireAlike(await outputOf('a'), []);
    await backend.log.append(run, batch(3, event(3), itemDone(4, 1, answer('second'))));
    requireAlike(await outputOf('a'), ['second']);
    await backend.log.append(run, batch(5, itemDone(5, 0, answer('first')), itemDone(6, 2, answer('half'))));
    requireAlike(await outputOf('a'), ['first', 'second', 'half']);
    await backend.log.append(run, { ...batch(7), notes: [dropped(7, 2)] });
    requireAlike(await outputOf('a'), ['first', 'second']);
    requireAlike((await store.get(tenant, 'a'))?.output, [answer('first'), answer('second')]);
    await runs.finish(run, endingOf('a', { log: { ...batch(7, event(7)), firstNote: 1 }, output: [answer('x')] }));
    requireAlike(await outputOf('a'), ['x']);
  });

  it('a background response is in lists and trees by its status alone, without items, until it has ended', async () => {
    await append(store, tenant, 'root', { sessionId: 's' });
    const run = await launch(backend, tenant, 'a', { parentId: 'root', sessionId: 's' });
    await enqueue(runs, tenant, 'b', { parentId: 'root', sessionId: 's' });
    await backend.log.append(run, batch(3, itemDone(3, 0, answer('first'))));
    const expectShown = async (a: object, b: object): Promise<void> => {
      requireMatch((await graph.list(tenant, { sessionId: 's' }, PAGE)).data, [a, b, { id: 'root' }]);
      requireMatch((await graph.children(tenant, 'root', PAGE))?.data, [a, b]);
      requireMatch((await graph.siblings(tenant, 'b', PAGE))?.data, [a]);
      requireMatch((await graph.leaves(tenant, 'root', PAGE))?.data, [a, b]);
      const tree = await graph.tree(tenant, 'root', { depth: 5, limit: 10 });
      requireMatch(
        tree?.children.map(({ response }) => response),
        [a, b],
      );
    };
    const waiting = { id: 'b', status: 'queued', output: [] };
    await expectShown({ id: 'a', status: 'in_progress', output: [] }, waiting);
    await runs.finish(run, endingOf('a', { at: 4, output: [answer('first')] }));
    await expectShown({ id: 'a', status: 'completed', output: [answer('first')] }, waiting);
  });

  it('a background response has its input, session, metadata and place in the tree from the start', async () => {
    await append(store, tenant, 'root', { sessionId: 's' });
    await enqueue(runs, tenant, 'a', { parentId: 'root', sessionId: 's', metadata: { kind: 'k' } });
    requireAlike((await store.inputItems(tenant, 'a', PAGE))?.data, [message('a-in')]);
    assert.notEqual(await store.get(tenant, 'a', 's'), undefined);
    assert.equal(await store.get(tenant, 'a', 'elsewhere'), undefined);
    requireAlike(idsOf((await graph.list(tenant, { metadata: { kind: 'k' } }, PAGE)).data), ['a']);
    requireAlike(idsOf((await graph.children(tenant, 'root', PAGE))?.data), ['a']);
    assert.equal(await backend.sessions.hasAtLeast(tenant, 's', 2), true);
  });

  it('a background response can be continued once it has ended completed or incomplete, and not before', async () => {
    const run = await launch(backend, tenant, 'a');
    await enqueue(runs, tenant, 'waiting');
    requireAlike([await store.chain(tenant, 'a'), await store.chain(tenant, 'waiting')], [undefined, undefined]);
    const given = [{ after: 0, items: [message('given')] }];
    await runs.finish(run, endingOf('a', { at: 3, given, origin: ORIGIN, expiresAt: START + 2 * TTL_MS }));
    requireAlike(await contextOf(store, tenant, 'a'), ['a-in', 'given', 'a-out']);
    requireMatch(await store.chain(tenant, 'a'), {
      responseId: 'a',
      origin: ORIGIN,
      sessionId: 'a',
      expiresAt: START + 2 * TTL_MS,
    });
    await append(store, tenant, 'b', { parentId: 'a' });
    requireAlike(await contextOf(store, tenant, 'b'), ['a-in', 'given', 'a-out', ...contextFrom('b')]);
    requireAlike(idsOf([...(await store.items(tenant, ['a-in', 'a-out', 'given'])).values()]), ['a-in', 'a-out']);
  });

  for (const status of ['failed', 'cancelled'] as const) {
    it(`a background response cannot be continued when it has ended ${status}`, async () => {
      const run = await launch(backend, tenant, 'a');
      if (status === 'failed') await runs.finish(run, endingOf('a', { at: 3, status }));
      else await runs.conclude(tenant, 'a', () => endingOf('a', { at: 3, status }), {});
      requireMatch(await store.get(tenant, 'a'), { status });
      assert.equal(await store.chain(tenant, 'a'), undefined);
    });
  }

  describe('a start', () => {
    it('a start gives the turn, its input and its context', async () => {
      await append(store, tenant, 'root', { sessionId: 's', origin: ORIGIN });
      const { turn } = await enqueue(runs, tenant, 'a', { parentId: 'root', sessionId: 's' });
      requireAlike(await startRun(runs, { tenant, responseId: 'a', attempt: 1 }), {
        turn,
        input: [message('a-in')],
        context: contextFrom('root').map((id) => message(id)),
        parent: { responseId: 'root', origin: ORIGIN, isInConversation: false, expiresAt: START + TTL_MS },
        sessionId: 's',
        log: OPENING,
        attempts: 1,
        isRestart: false,
      });
    });

    it('a start gives what was inherited from a parent that is not stored', async () => {
      await enqueue(runs, tenant, 'a', { parentId: 'gone', inherited: [message('old')] });
      const run = { tenant, responseId: 'a', attempt: 1 };
      requireMatch(await startRun(runs, run), { parent: null, context: [message('old')] });
    });

    for (const how of ['deleted', 'expired', 'expired and purged']) {
      it(`a start gives the context of a parent that is ${how}`, async () => {
        await using other = await open();
        const { responses, runs } = other.backend;
        await append(responses, tenant, 'root');
        await append(responses, tenant, 'parent', { parentId: 'root' });
        await enqueue(runs, tenant, 'a', { parentId: 'parent' });
        if (how === 'deleted') await responses.delete(tenant, 'parent', { cascade: false });
        else other.clock.advance(TTL_MS);
        if (how === 'expired and purged') await responses.purge();
        const started = await startRun(runs, { tenant, responseId: 'a', attempt: 1 });
        requireAlike(idsOf(started.context), contextFrom('root', 'parent'));
        requireAlike(idsOf(started.input), ['a-in']);
      });
    }

    it('a start gives all that earlier attempts have logged', async () => {
      const run = await launch(backend, tenant, 'a');
      const notes = [{ before: 3, type: 'pass' }];
      await backend.log.append(run, { ...deltas(3, 2), notes });
      await backend.log.append(run, { firstEvent: 5, firstNote: 1, events: [], notes: [dropped(5, 0)] });
      await backend.log.append(run, { ...deltas(5, 1), firstNote: 2 });
      const { log } = await startRun(runs, after(run));
      requireAlike(
        log.events.map(({ sequenceNumber }) => sequenceNumber),
        [0, 1, 2, 3, 4, 5],
      );
      requireAlike(log.events.slice(3), [...deltas(3, 3).events]);
      requireAlike(log.notes, [...notes, dropped(5, 0)]);
    });

    it('a start counts the attempts, but not those that are handed back', async () => {
      let run = await launch(backend, tenant, 'a');
      run = after(run);
      requireMatch(await startRun(runs, run), { attempts: 2, isRestart: true });
      await runs.handBack(run);
      run = { ...run, attempt: 7 };
      requireMatch(await startRun(runs, run), { attempts: 2, isRestart: true });
      requireMatch(await startRun(runs, after(run)), { attempts: 3, isRestart: true });
    });

    it('a start is no restart while nothing was done: what was handed back still waits', async () => {
      await enqueue(runs, tenant, 'a');
      const run = { tenant, responseId: 'a', attempt: 1 };
      await startRun(runs, run);
      await runs.handBack(run);
      requireMatch(await startRun(runs, after(run)), { attempts: 1, isRestart: false });
      requireMatch(await startRun(runs, { ...run, attempt: 3 }), { attempts: 2, isRestart: true });
    });

    it('a start is a restart when the turn that was handed back had begun', async () => {
      const run = await launch(backend, tenant, 'a');
      await runs.handBack(run);
      requireMatch(await startRun(runs, after(run)), { attempts: 1, isRestart: true });
    });
  });

  it('a background response is found while it waits by the time of its creation, oldest first', async () => {
    await using other = await open();
    const { responses, runs, log } = other.backend;
    const second = (seconds: number): number => START / 1000 + seconds;
    const waitingBefore = async (seconds: number, limit = 100): Promise<unknown> =>
      (await runs.queuedBefore(second(seconds) * 1000, limit)).map((waiting) => [waiting.tenant, waiting.responseId]);
    const stranger = newTenant();
    const [a, b, c] = [[tenant, 'a'] as const, [stranger, 'b'] as const, [tenant, 'c'] as const];
    for (const [index, [of, id]] of [a, b, c].entries()) await enqueue(runs, of, id, { createdAt: second(index) });
    await append(responses, tenant, 'saved');
    const run = { tenant: stranger, responseId: 'b', attempt: 1 };
    await startRun(runs, run);
    requireAlike(await waitingBefore(0), []);
    requireAlike(await waitingBefore(2), [a, b]);
    requireAlike(await waitingBefore(2.001), [a, b, c]);
    requireAlike(await waitingBefore(3, 2), [a, b]);
    await log.append(run, batch(2, begins(2)));
    requireAlike(await waitingBefore(3), [a, c]);
    await responses.delete(tenant, 'a', { cascade: false });
    requireAlike(await waitingBefore(3), [c]);
    await runs.conclude(tenant, 'c', () => endingOf('c', { status: 'failed' }), {});
    requireAlike(await waitingBefore(3), []);
  });

  it('a start keeps the turn as it was given', async () => {
    const record = { ...queuedOf('a'), turn: JSON.stringify({ text: '\0\ud800"\\\n', deep: [{}] }) };
    await runs.create(tenant, record, NO_BOUNDS);
    assert.equal((await startRun(runs, { tenant, responseId: 'a', attempt: 1 })).turn, record.turn);
  });
});
