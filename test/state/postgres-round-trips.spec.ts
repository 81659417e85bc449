import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { createConversation, openConversation, partsIn } from '../../src/testing/state/conversations.js';
import { lineOf, message, newTenant, recordOf } from '../../src/testing/state/records.js';
import { deltas, endingOf, launch, startRun, NO_BOUNDS, queuedOf } from '../../src/testing/state/runs.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { SentStatements } from './sent-statements.js';

const PAGE = { limit: 10, order: 'asc' } as const;

describe('round trips to PostgreSQL', () => {
  const tenant = newTenant();
  let opened: OpenedPostgres;
  let statements: SentStatements;

  beforeAll(async () => {
    using started = new SentStatements();
    opened = await openPostgres();
    await started.whenListening();
    await opened.saveMany(tenant, lineOf(1000));
  });
  beforeEach(() => {
    statements = new SentStatements();
  });
  afterEach(() => statements[Symbol.dispose]());
  afterAll(() => opened.close());

  it.each(['r0', 'r9', 'r999'])('reading the conversation up to %s takes one round trip', async (id) => {
    await opened.backend.responses.chain(tenant, id);
    expect(statements.take()).toHaveLength(1);
  });

  it('saving a turn takes one round trip, however long the conversation', async () => {
    await opened.backend.responses.save(tenant, recordOf('next', { parentId: 'r999', sessionId: 'r0' }));
    expect(statements.take()).toHaveLength(1);
  });

  it('saving what a turn was given takes one round trip', async () => {
    const given = [{ after: 0, items: [{ type: 'message', id: 'given' }] }];
    await opened.backend.responses.save(tenant, recordOf('given', { parentId: 'r999', sessionId: 'r0', given }));
    expect(statements.take()).toHaveLength(1);
  });

  it('round trips do not carry what comes before a response whose parent is kept', async () => {
    const inherited = [{ type: 'message', id: 'before', text: 'what came before' }];
    await opened.backend.responses.save(tenant, recordOf('light', { parentId: 'r999', inherited }));
    expect(JSON.stringify(statements.take())).not.toContain('what came before');
  });

  it('saving what continues something that is gone takes two round trips', async () => {
    await opened.backend.responses.save(tenant, recordOf('orphan', { parentId: 'nothing' }));
    expect(statements.take()).toHaveLength(2);
  });

  it('every look-up takes one round trip', async () => {
    const { responses: store, graph, sessions, locks } = opened.backend;
    const lookups = [
      () => store.get(tenant, 'r500'),
      () => store.inputItems(tenant, 'r500', PAGE),
      () => store.items(tenant, ['a', 'b', 'c']),
      () => graph.list(tenant, { sessionId: 'r0', model: 'gpt' }, { ...PAGE, after: 'r7' }),
      () => graph.children(tenant, 'r500', PAGE),
      () => graph.siblings(tenant, 'r500', PAGE),
      () => graph.leaves(tenant, 'r500', PAGE),
      () => graph.tree(tenant, 'r500', { depth: 100, limit: 1000 }),
      () => sessions.hasAtLeast(tenant, 'r0', 1000),
      () => locks.tryAcquire(tenant, 'r0', 1000),
    ];
    for (const lookup of lookups) {
      await lookup();
      expect(statements.take()).toHaveLength(1);
    }
  });

  it('everything about a conversation takes one round trip, and saving a turn of it one', async () => {
    const { backend } = opened;
    const { conversations: store, responses } = backend;
    const record = { id: 'c', createdAt: 1, metadata: {} };
    const open = async (): Promise<void> => {
      lease = await openConversation(backend, tenant, 'c');
    };
    let lease = { version: 0, fence: 0 };
    const steps = [
      () => store.create(tenant, record, [message('a')]),
      () => store.append(tenant, 'c', [message('b'), message('d')]),
      () => store.deleteItem(tenant, 'c', 'b'),
      () => store.get(tenant, 'c'),
      () => store.update(tenant, 'c', {}),
      () => store.read(tenant, 'c'),
      () => store.items(tenant, 'c', { ...PAGE, after: 'a' }),
      () => store.item(tenant, 'c', 'a'),
      open,
      () => responses.save(tenant, recordOf('in-c', partsIn('c', lease))),
      () => responses.chain(tenant, 'in-c'),
      () => responses.items(tenant, ['a']),
    ];
    statements.take();
    for (const step of steps) {
      await step();
      expect(statements.take()).toHaveLength(1);
    }
  });

  it('ending a background response of a conversation takes one round trip', async () => {
    const { backend } = opened;
    await createConversation(backend, tenant, 'with-bg');
    const run = await launch(backend, tenant, 'bg-in-c');
    const lease = await openConversation(backend, tenant, 'with-bg');
    statements.take();
    await backend.runs.finish(run, endingOf('bg-in-c', { ...partsIn('with-bg', lease), at: 3 }));
    expect(statements.take()).toHaveLength(1);
  });

  it('appending events, reading them and ending what has run take one round trip each', async () => {
    const { responses: store, runs, log } = opened.backend;
    const run = await launch(opened.backend, tenant, 'background', { parentId: 'r999' });
    const steps: readonly (readonly [trips: number, step: () => Promise<unknown>])[] = [
      [1, () => log.append(run, deltas(3, 100))],
      [1, () => log.read(tenant, 'background', 50)],
      // The attempt; then, at the same time, the log, the context and the parent.
      [4, () => startRun(runs, { ...run, attempt: 2 })],
      [1, () => runs.handBack({ ...run, attempt: 2 })],
      [1, () => runs.finish({ ...run, attempt: 2 }, endingOf('background', { at: 103 }))],
      [1, () => store.get(tenant, 'background')],
    ];
    for (const [trips, step] of steps) {
      statements.take();
      await step();
      expect(statements.take()).toHaveLength(trips);
    }
  });

  it.each([
    ['seven', 7, 10_000],
    ['nine, with a lock, when the queue is nearly full', 9, 50],
  ])('creating what runs in the background takes round trips: %s', async (_, trips, perTenant) => {
    statements.take();
    await opened.backend.runs.create(tenant, queuedOf(`queued-${trips}`), { ...NO_BOUNDS, perTenant });
    expect(statements.take()).toHaveLength(trips);
  });

  it('freeing a long line of deleted ancestors takes few round trips', async () => {
    const line = newTenant();
    await opened.saveMany(line, lineOf(500));
    const ids = `(SELECT 'r' || n FROM generate_series(0, 498) AS n)`;
    await opened.database.query(
      `UPDATE antiphon.responses SET expires_at = '-infinity' WHERE owner = $1 AND id IN ${ids}`,
      [line],
    );
    statements.take();
    await opened.backend.responses.delete(line, 'r499', { cascade: false });
    expect(statements.take().length).toBeLessThan(20);
    const rest = await opened.database.query('SELECT FROM antiphon.responses WHERE owner = $1', [line]);
    expect(rest).toEqual([]);
  });
});
