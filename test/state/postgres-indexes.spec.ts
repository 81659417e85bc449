import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import type { Tenant } from '../../src/access/index.js';
import type { ResponseFilter } from '../../src/state/index.js';
import { message, newTenant, recordOf, START, TTL_MS } from '../../src/testing/state/records.js';
import { cancelledOf, deltas, endingOf, NO_BOUNDS, queuedOf } from '../../src/testing/state/runs.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { type SentStatement, SentStatements } from './sent-statements.js';

const PAGE = { limit: 20, order: 'desc' } as const;
const NOW = START / 1000;

/**
 * 500 sessions of 40 responses: a line of twenty, each with one more child. Every tenth session is of the tenant. Every
 * fourth response was in the background, and has twenty batches of events; those of session 10 have not ended.
 */
function fillFor(tenant: Tenant): string {
  return `
    INSERT INTO antiphon.responses
      (owner, id, parent_id, session_id, status, model, created_at, expires_at, labels, size, items_size, body)
    SELECT CASE session % 10 WHEN 0 THEN '${tenant}' ELSE 'other-' || session % 10 END, 'r' || session || '-' || n,
      CASE WHEN n = 0 THEN NULL ELSE 'r' || session || '-' || (CASE WHEN n % 2 = 1 THEN n - 1 ELSE n - 2 END) END,
      's' || session, CASE WHEN n % 40 = 7 THEN 'failed' ELSE 'completed' END, 'model-' || session % 50,
      to_timestamp(${NOW} - session * 100 + n), to_timestamp(${NOW} + 1000 + session * 100 + n / 1000.0),
      ARRAY['label-' || session], 40, 4, '{"id":"resp"}'
    FROM generate_series(0, 499) AS session, generate_series(0, 39) AS n ORDER BY n;
    INSERT INTO antiphon.session_responses (owner, session_id, created_at, response_id)
    SELECT owner, session_id, created_at, id FROM antiphon.responses;
    INSERT INTO antiphon.items (owner, response_id, position, kind, item_key, body)
    SELECT owner, id, position, CASE position WHEN 1 THEN 'input' ELSE 'output' END, 'item-' || id || position, '{"type":"x"}'
    FROM antiphon.responses, generate_series(1, 2) AS position;
    INSERT INTO antiphon.background_runs (owner, response_id, tenant, turn, is_stream, log_expires_at)
    SELECT owner, id, '"${tenant}"', '{}', true, CASE WHEN session_id <> 's10' THEN expires_at END
    FROM antiphon.responses WHERE split_part(id, '-', 2)::integer % 4 = 0;
    UPDATE antiphon.responses SET status = CASE WHEN id = 'r10-0' THEN 'queued' ELSE 'in_progress' END
    WHERE session_id = 's10' AND split_part(id, '-', 2)::integer % 4 = 0;
    INSERT INTO antiphon.event_log (owner, response_id, first_event, first_note, events, has_items)
    SELECT owner, response_id, first_event, 0, '-1 {"type":"x"', first_event % 8 = 0
    FROM antiphon.background_runs, generate_series(0, 19) AS first_event;
    INSERT INTO antiphon.conversations (owner, id, created_at, metadata, version, end_position, items_size, is_deleted)
    SELECT CASE n % 10 WHEN 0 THEN '${tenant}' ELSE 'other-' || n % 10 END, 'c' || n, to_timestamp(${NOW}), '{}', 1, 8, 16, n % 1000 = 7
    FROM generate_series(0, 4999) AS n;
    INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
    SELECT owner, id, n, n % 8 = 7, id || '-' || n, '{"type":"x"}' FROM antiphon.conversations, generate_series(0, 7) AS n;
    INSERT INTO antiphon.conversations (owner, id, created_at, metadata, version, end_position, items_size)
    VALUES ('${tenant}', 'long', to_timestamp(${NOW}), '{}', 1, 10000, 20000);
    INSERT INTO antiphon.conversation_items (owner, conversation_id, position, is_given, item_key, body)
    SELECT '${tenant}', 'long', n, false, 'long-' || n, '{"type":"x"}' FROM generate_series(0, 9999) AS n;
    ANALYZE;`;
}

describe('the statements of PostgreSQL on 20,000 responses', () => {
  const tenant = newTenant();
  let opened: OpenedPostgres;

  beforeAll(async () => {
    using started = new SentStatements();
    opened = await openPostgres();
    await started.whenListening();
    await opened.database.query(fillFor(tenant));
  });
  afterAll(() => opened.close());

  /** The statements that something takes, without those that begin and end transactions, and the queue's own. */
  const statementsOf = async (use: () => Promise<unknown>): Promise<readonly SentStatement[]> => {
    using statements = new SentStatements();
    await use();
    return statements.take().filter(({ values }) => values !== undefined);
  };
  const planOf = async (explain: string, values?: readonly unknown[]): Promise<string> =>
    (await opened.database.query(explain, values)).map((row) => String(row['QUERY PLAN'])).join('\n');

  const expectIndexes = async (
    use: () => Promise<unknown>,
    tables = 'responses|items|session_responses|background_runs|event_log',
  ): Promise<void> => {
    const statements = await statementsOf(use);
    expect(statements).not.toEqual([]);
    for (const { text, values, name } of statements) {
      // As it is planned for these values, and, where it stays prepared, for any.
      const plans = [await planOf(`EXPLAIN ${text}`, values)];
      if (name !== undefined) plans.push(await planOf(`EXPLAIN (GENERIC_PLAN) ${text}`));
      for (const plan of plans) expect(plan).not.toMatch(new RegExp(`Seq Scan on (?:${tables})\\b`));
    }
  };

  const filters: readonly (readonly [string, ResponseFilter])[] = [
    ['everything', {}],
    ['a session', { sessionId: 's10' }],
    ['a model', { model: 'model-10' }],
    ['what failed', { statuses: ['failed'] }],
    ['what is complete', { statuses: ['completed'] }],
    ['what has an answer', { statuses: ['completed', 'incomplete'] }],
    ['metadata', { metadata: { kind: 'rare' } }],
    ['a time', { createdFrom: NOW - 1000, createdBefore: NOW }],
    ['a session and a model', { sessionId: 's10', model: 'model-10' }],
  ];

  it.each(filters)('the statements of PostgreSQL find pages of %s by an index', async (_, filter) => {
    const { graph } = opened.backend;
    await expectIndexes(() => graph.list(tenant, filter, PAGE));
    await expectIndexes(() => graph.list(tenant, filter, { ...PAGE, after: 'r10-7' }).catch(() => undefined));
    await expectIndexes(() => graph.list(tenant, filter, { ...PAGE, before: 'r10-7' }).catch(() => undefined));
  });

  it.each([undefined, 's10'])(
    'the statements of PostgreSQL find one response and what hangs on it by an index, within %p',
    async (within) => {
      const { responses: store, graph } = opened.backend;
      const tree = { depth: 20, limit: 100 };
      for (const use of [
        () => store.get(tenant, 'r10-7', within),
        () => store.chain(tenant, 'r10-38', within),
        () => store.inputItems(tenant, 'r10-7', { ...PAGE, after: 'item-r10-71' }, within),
        () => store.items(tenant, ['item-r10-71', 'item-r20-72', 'nothing'], within),
        () => graph.children(tenant, 'r10-6', PAGE, within),
        () => graph.siblings(tenant, 'r10-7', PAGE, within),
        () => graph.leaves(tenant, 'r10-6', PAGE, within),
        () => graph.tree(tenant, 'r10-38', tree, within),
      ]) {
        await expectIndexes(use);
      }
    },
  );

  it.each([undefined, 's10'])(
    'the statements of PostgreSQL look at the ends of branches one by one, within %p',
    async (within) => {
      const [statement] = await statementsOf(() => opened.backend.graph.leaves(tenant, 'r10-6', PAGE, within));
      const plan = await planOf(`EXPLAIN ${statement?.text}`, statement?.values);
      // A join would compare each of 10,000 with each.
      expect(plan).not.toMatch(/(?:Anti|Semi) Join|Join Filter/);
    },
  );

  it('the statements of PostgreSQL find sessions by an index', async () => {
    const { sessions } = opened.backend;
    await expectIndexes(() => sessions.hasAtLeast(tenant, 's10', 1000));
    await expectIndexes(() => sessions.fork(tenant, { sourceId: 's10', targetId: 'fork', upToResponseId: 'r10-7' }));
    await expectIndexes(() => sessions.delete(tenant, 's20'));
  });

  it('the statements of PostgreSQL save and delete by an index', async () => {
    const { responses: store } = opened.backend;
    const parts = { parentId: 'r10-38', sessionId: 's10', expiresAt: START + 100 * TTL_MS };
    await expectIndexes(() => store.save(tenant, recordOf('new', parts)));
    await expectIndexes(() => store.delete(tenant, 'r30-38', { cascade: false }));
    await expectIndexes(() => store.delete(tenant, 'r40-30', { cascade: true }));
  });

  it('the statements of PostgreSQL find and change conversations by an index', async () => {
    const { conversations: store, responses } = opened.backend;
    const tables = 'responses|conversations|conversation_items';
    const ttlMs = 60_000;
    for (const use of [
      () => store.create(tenant, { id: 'new', createdAt: 1, metadata: {} }, [message('a')]),
      () => store.get(tenant, 'c10'),
      () => store.update(tenant, 'c10', {}),
      () => store.read(tenant, 'c10'),
      () => store.append(tenant, 'c10', [message('a')]),
      () => store.items(tenant, 'c10', { ...PAGE, after: 'c10-3' }),
      () => store.items(tenant, 'c10', { ...PAGE, order: 'asc', after: 'c10-3' }),
      () => store.item(tenant, 'c10', 'c10-3'),
      () => store.deleteItem(tenant, 'c10', 'c10-3'),
      () => store.open(tenant, 'c10', { ttlMs }),
      () => responses.save(tenant, recordOf('in-c20', { conversation: { id: 'c20', version: 1 } })),
      () => responses.chain(tenant, 'in-c20'),
      () => responses.items(tenant, ['c20-3', 'nothing']),
      () => store.delete(tenant, 'c30'),
    ]) {
      await expectIndexes(use, tables);
    }
  });

  it.each(['asc', 'desc'] as const)(
    'the statements of PostgreSQL read only a page of 10,000 items, in order %s',
    async (order) => {
      const { conversations: store } = opened.backend;
      for (const cursor of [{}, { after: 'long-5000' }, { before: 'long-5000' }]) {
        const [statement] = await statementsOf(() => store.items(tenant, 'long', { limit: 20, order, ...cursor }));
        const plan = await planOf(`EXPLAIN (ANALYZE, BUFFERS) ${statement?.text}`, statement?.values);
        // Twenty-one rows are in one or two pages of the table.
        const buffers = [...plan.matchAll(/shared hit=(\d+)/g)].map(([, hit]) => Number(hit));
        expect(Math.max(...buffers)).toBeLessThan(30);
        expect(plan).toMatch(/Index Scan .*conversation_items.*actual [^)]*rows=21(?:\.00)? /);
      }
    },
  );

  it('the statements of PostgreSQL create and run background responses by an index', async () => {
    const { responses: store, runs, log } = opened.backend;
    const run = { tenant, responseId: 'r10-4', attempt: 1 };
    const jobs = [{ queue: 'webhooks', data: {} }] as const;
    for (const use of [
      () => runs.create(tenant, queuedOf('queued', { parentId: 'r20-38', sessionId: 's20' }), NO_BOUNDS),
      () => runs.queuedBefore(START + 1000, 10),
      () => runs.start(run),
      () => log.append(run, deltas(20, 5)),
      () => store.get(tenant, 'r10-4'),
      () => runs.handBack(run),
      () => runs.finish(run, endingOf('r10-4', { at: 25 })),
      () => runs.finish({ ...run, responseId: 'r10-8', attempt: 0 }, endingOf('r10-8', { at: 20, jobs })),
      () => runs.conclude(tenant, 'r10-12', () => cancelledOf('r10-12', { at: 20 }), { within: 's10', attempt: 0 }),
    ]) {
      await expectIndexes(use);
    }
  });

  it.each([undefined, 's10'])('the statements of PostgreSQL read events by an index, within %p', async (within) => {
    for (const after of [-1, 10, 1000]) {
      await expectIndexes(() => opened.backend.log.read(tenant, 'r10-16', after, within));
    }
    const [statement] = await statementsOf(() => opened.backend.log.read(tenant, 'r10-16', 10, within));
    const plan = await planOf(`EXPLAIN (ANALYZE) ${statement?.text}`, statement?.values);
    // Only the batches from the cursor on are read.
    expect(plan).toMatch(/Index Scan .*event_log.*actual [^)]*rows=1?[0-9](?:\.00)? /);
  });

  it('the statements of PostgreSQL purge by an index', async () => {
    opened.clock.advance(1_000_009);
    // A batch may well be so much of the sessions that it is better to read all of them.
    await expectIndexes(() => opened.backend.responses.purge(), 'responses|items|event_log');
  });
});
