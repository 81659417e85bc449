import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { Origin, ResponseObject } from '../../src/protocol/index.js';
import type { ResponseGraph, ResponseStore, StateBackend } from '../../src/state/index.js';
import { BACKENDS, type OpenedBackend } from './backends.js';
import { append, contextFrom, contextOf, message, newTenant, START, TTL_MS } from './records.js';
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
} from './runs.js';

const PAGE = { limit: 10, order: 'asc' } as const;
const ORIGIN: Origin = { provider: 'p', model: 'm', upstreamId: 'u' };

describe.each(BACKENDS)('the life of a background response in $name', ({ open }) => {
  let opened: OpenedBackend;
  let backend: StateBackend;
  let store: ResponseStore;
  let graph: ResponseGraph;
  let tenant: Tenant;

  beforeAll(async () => {
    opened = await open();
    ({ backend } = opened);
    ({ responses: store, graph } = backend);
  });
  beforeEach(() => {
    tenant = newTenant();
  });
  afterAll(() => opened.close());

  const idsOf = (items: readonly { readonly id: string }[] | undefined): unknown => items?.map(({ id }) => id);
  const listed = async (status: ResponseObject['status']): Promise<unknown> =>
    idsOf((await graph.list(tenant, { status }, PAGE)).data);
  const outputOf = async (id: string): Promise<unknown> => idsOf((await store.get(tenant, id))?.output);

  it('goes from queued over in_progress to its end', async () => {
    const { response } = await enqueue(store, tenant, 'a');
    expect(await store.get(tenant, 'a')).toEqual(response);
    const run = { tenant, responseId: 'a', attempt: 1 };
    await startRun(store, run);
    expect(await store.get(tenant, 'a')).toEqual(response);
    await backend.log.append(run, batch(2, begins(2)));
    expect(await store.get(tenant, 'a')).toEqual({ ...response, status: 'in_progress' });
    const ending = endingOf('a', { at: 3 });
    await store.finish(run, ending);
    expect(await store.get(tenant, 'a')).toEqual(ending.response);
  });

  it.each(['completed', 'incomplete', 'failed'] as const)('ends %s', async (status) => {
    const run = await launch(backend, tenant, 'a');
    const ending = endingOf('a', { at: 3, status });
    await store.finish(run, ending);
    expect(await store.get(tenant, 'a')).toEqual(ending.response);
    expect(await listed(status)).toEqual(['a']);
  });

  it('is listed by its status of the moment', async () => {
    await enqueue(store, tenant, 'a');
    expect([await listed('queued'), await listed('in_progress'), await listed('completed')]).toEqual([['a'], [], []]);
    const run = { tenant, responseId: 'a', attempt: 1 };
    await startRun(store, run);
    await backend.log.append(run, batch(2, begins(2)));
    expect([await listed('queued'), await listed('in_progress'), await listed('completed')]).toEqual([[], ['a'], []]);
    await store.finish(run, endingOf('a', { at: 3 }));
    expect([await listed('queued'), await listed('in_progress'), await listed('completed')]).toEqual([[], [], ['a']]);
  });

  it('shows the items that are finished so far, by their place, without what was dropped', async () => {
    const run = await launch(backend, tenant, 'a');
    expect(await outputOf('a')).toEqual([]);
    await backend.log.append(run, batch(3, event(3), itemDone(4, 1, answer('second'))));
    expect(await outputOf('a')).toEqual(['second']);
    await backend.log.append(run, batch(5, itemDone(5, 0, answer('first')), itemDone(6, 2, answer('half'))));
    expect(await outputOf('a')).toEqual(['first', 'second', 'half']);
    await backend.log.append(run, { ...batch(7), notes: [dropped(7, 2)] });
    expect(await outputOf('a')).toEqual(['first', 'second']);
    expect((await store.get(tenant, 'a'))?.output).toEqual([answer('first'), answer('second')]);
    await store.finish(run, endingOf('a', { log: { ...batch(7, event(7)), firstNote: 1 }, output: [answer('x')] }));
    expect(await outputOf('a')).toEqual(['x']);
  });

  it('is in lists and trees by its status alone, without items, until it has ended', async () => {
    await append(store, tenant, 'root', { sessionId: 's' });
    const run = await launch(backend, tenant, 'a', { parentId: 'root', sessionId: 's' });
    await enqueue(store, tenant, 'b', { parentId: 'root', sessionId: 's' });
    await backend.log.append(run, batch(3, itemDone(3, 0, answer('first'))));
    const expectShown = async (a: object, b: object): Promise<void> => {
      expect((await graph.list(tenant, { sessionId: 's' }, PAGE)).data).toMatchObject([a, b, { id: 'root' }]);
      expect((await graph.children(tenant, 'root', PAGE))?.data).toMatchObject([a, b]);
      expect((await graph.siblings(tenant, 'b', PAGE))?.data).toMatchObject([a]);
      expect((await graph.leaves(tenant, 'root', PAGE))?.data).toMatchObject([a, b]);
      const tree = await graph.tree(tenant, 'root', { depth: 5, limit: 10 });
      expect(tree?.children.map(({ response }) => response)).toMatchObject([a, b]);
    };
    const waiting = { id: 'b', status: 'queued', output: [] };
    await expectShown({ id: 'a', status: 'in_progress', output: [] }, waiting);
    await store.finish(run, endingOf('a', { at: 4, output: [answer('first')] }));
    await expectShown({ id: 'a', status: 'completed', output: [answer('first')] }, waiting);
  });

  it('has its input, session, metadata and place in the tree from the start', async () => {
    await append(store, tenant, 'root', { sessionId: 's' });
    await enqueue(store, tenant, 'a', { parentId: 'root', sessionId: 's', metadata: { kind: 'k' } });
    expect((await store.inputItems(tenant, 'a', PAGE))?.data).toEqual([message('a-in')]);
    expect(await store.get(tenant, 'a', 's')).toBeDefined();
    expect(await store.get(tenant, 'a', 'elsewhere')).toBeUndefined();
    expect(idsOf((await graph.list(tenant, { metadata: { kind: 'k' } }, PAGE)).data)).toEqual(['a']);
    expect(idsOf((await graph.children(tenant, 'root', PAGE))?.data)).toEqual(['a']);
    expect(await backend.sessions.hasAtLeast(tenant, 's', 2)).toBe(true);
  });

  it('can be continued once it has ended completed or incomplete, and not before', async () => {
    const run = await launch(backend, tenant, 'a');
    await enqueue(store, tenant, 'waiting');
    expect([await store.chain(tenant, 'a'), await store.chain(tenant, 'waiting')]).toEqual([undefined, undefined]);
    const given = [{ after: 0, items: [message('given')] }];
    await store.finish(run, endingOf('a', { at: 3, given, origin: ORIGIN, expiresAt: START + 2 * TTL_MS }));
    expect(await contextOf(store, tenant, 'a')).toEqual(['a-in', 'given', 'a-out']);
    expect(await store.chain(tenant, 'a')).toMatchObject({
      responseId: 'a',
      origin: ORIGIN,
      sessionId: 'a',
      expiresAt: START + 2 * TTL_MS,
    });
    await append(store, tenant, 'b', { parentId: 'a' });
    expect(await contextOf(store, tenant, 'b')).toEqual(['a-in', 'given', 'a-out', ...contextFrom('b')]);
    expect(idsOf([...(await store.items(tenant, ['a-in', 'a-out', 'given'])).values()])).toEqual(['a-in', 'a-out']);
  });

  it.each(['failed', 'cancelled'] as const)('cannot be continued when it has ended %s', async (status) => {
    const run = await launch(backend, tenant, 'a');
    if (status === 'failed') await store.finish(run, endingOf('a', { at: 3, status }));
    else await store.conclude(tenant, 'a', () => endingOf('a', { at: 3, status }), {});
    expect(await store.get(tenant, 'a')).toMatchObject({ status });
    expect(await store.chain(tenant, 'a')).toBeUndefined();
  });

  describe('a start', () => {
    it('gives the turn, its input and its context', async () => {
      await append(store, tenant, 'root', { sessionId: 's', origin: ORIGIN });
      const { turn } = await enqueue(store, tenant, 'a', { parentId: 'root', sessionId: 's' });
      expect(await startRun(store, { tenant, responseId: 'a', attempt: 1 })).toEqual({
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

    it('gives what was inherited from a parent that is not stored', async () => {
      await enqueue(store, tenant, 'a', { parentId: 'gone', inherited: [message('old')] });
      const run = { tenant, responseId: 'a', attempt: 1 };
      expect(await startRun(store, run)).toMatchObject({ parent: null, context: [message('old')] });
    });

    it.each(['deleted', 'expired', 'expired and purged'])('gives the context of a parent that is %s', async (how) => {
      await using other = await open();
      const { responses } = other.backend;
      await append(responses, tenant, 'root');
      await append(responses, tenant, 'parent', { parentId: 'root' });
      await enqueue(responses, tenant, 'a', { parentId: 'parent' });
      if (how === 'deleted') await responses.delete(tenant, 'parent', { cascade: false });
      else other.clock.advance(TTL_MS);
      if (how === 'expired and purged') await responses.purge();
      const started = await startRun(responses, { tenant, responseId: 'a', attempt: 1 });
      expect(idsOf(started.context)).toEqual(contextFrom('root', 'parent'));
      expect(idsOf(started.input)).toEqual(['a-in']);
    });

    it('gives all that earlier attempts have logged', async () => {
      const run = await launch(backend, tenant, 'a');
      const notes = [{ before: 3, type: 'pass' }];
      await backend.log.append(run, { ...deltas(3, 2), notes });
      await backend.log.append(run, { firstEvent: 5, firstNote: 1, events: [], notes: [dropped(5, 0)] });
      await backend.log.append(run, { ...deltas(5, 1), firstNote: 2 });
      const { log } = await startRun(store, after(run));
      expect(log.events.map(({ sequenceNumber }) => sequenceNumber)).toEqual([0, 1, 2, 3, 4, 5]);
      expect(log.events.slice(3)).toEqual([...deltas(3, 3).events]);
      expect(log.notes).toEqual([...notes, dropped(5, 0)]);
    });

    it('counts the attempts, but not those that are handed back', async () => {
      let run = await launch(backend, tenant, 'a');
      run = after(run);
      expect(await startRun(store, run)).toMatchObject({ attempts: 2, isRestart: true });
      await store.handBack(run);
      run = { ...run, attempt: 7 };
      expect(await startRun(store, run)).toMatchObject({ attempts: 2, isRestart: true });
      expect(await startRun(store, after(run))).toMatchObject({ attempts: 3, isRestart: true });
    });

    it('is no restart while nothing was done: what was handed back still waits', async () => {
      await enqueue(store, tenant, 'a');
      const run = { tenant, responseId: 'a', attempt: 1 };
      await startRun(store, run);
      await store.handBack(run);
      expect(await startRun(store, after(run))).toMatchObject({ attempts: 1, isRestart: false });
      expect(await startRun(store, { ...run, attempt: 3 })).toMatchObject({ attempts: 2, isRestart: true });
    });

    it('is a restart when the turn that was handed back had begun', async () => {
      const run = await launch(backend, tenant, 'a');
      await store.handBack(run);
      expect(await startRun(store, after(run))).toMatchObject({ attempts: 1, isRestart: true });
    });
  });

  it('is found while it waits by the time of its creation, oldest first', async () => {
    await using other = await open();
    const { responses, log } = other.backend;
    const second = (seconds: number): number => START / 1000 + seconds;
    const waitingBefore = async (seconds: number, limit = 100): Promise<unknown> =>
      (await responses.queuedBefore(second(seconds) * 1000, limit)).map((waiting) => [
        waiting.tenant,
        waiting.responseId,
      ]);
    const stranger = newTenant();
    const [a, b, c] = [[tenant, 'a'] as const, [stranger, 'b'] as const, [tenant, 'c'] as const];
    for (const [index, [of, id]] of [a, b, c].entries()) await enqueue(responses, of, id, { createdAt: second(index) });
    await append(responses, tenant, 'saved');
    const run = { tenant: stranger, responseId: 'b', attempt: 1 };
    await startRun(responses, run);
    expect(await waitingBefore(0)).toEqual([]);
    expect(await waitingBefore(2)).toEqual([a, b]);
    expect(await waitingBefore(2.001)).toEqual([a, b, c]);
    expect(await waitingBefore(3, 2)).toEqual([a, b]);
    await log.append(run, batch(2, begins(2)));
    expect(await waitingBefore(3)).toEqual([a, c]);
    await responses.delete(tenant, 'a', { cascade: false });
    expect(await waitingBefore(3)).toEqual([c]);
    await responses.conclude(tenant, 'c', () => endingOf('c', { status: 'failed' }), {});
    expect(await waitingBefore(3)).toEqual([]);
  });

  it('keeps the turn as it was given', async () => {
    const record = { ...queuedOf('a'), turn: JSON.stringify({ text: '\0\ud800"\\\n', deep: [{}] }) };
    await store.create(tenant, record, NO_BOUNDS);
    expect((await startRun(store, { tenant, responseId: 'a', attempt: 1 })).turn).toBe(record.turn);
  });
});
