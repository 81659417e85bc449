import { DatabaseSync } from 'node:sqlite';

import { beforeAll, describe, expect, it, jest } from '@jest/globals';

import { UnknownCursorError } from '../../src/state/errors.js';
import type { NewResponse } from '../../src/state/sqlite/new-response.js';
import { operationsOf } from '../../src/state/sqlite/operations.js';
import { MIGRATIONS } from '../../src/state/sqlite/schema.js';

const TENANT = 'tenant';
const PAGES = [
  { limit: 3, order: 'asc' },
  { limit: 3, order: 'desc', after: 'r1' },
  { limit: 3, order: 'desc', before: 'r1' },
] as const;
const FILTERS = [
  {},
  { sessionId: 'r0' },
  { metadata: { a: 'b', c: 'd' } },
  { status: 'failed', model: 'model' },
] as const;

/** Reads a table from one end to the other, or all that a tenant has, or all that has not expired. */
const READS_TOO_MUCH =
  /^SCAN (?!r USING INDEX queued_responses|(?:f|vector_store_files) USING INDEX vector_store_files_(?:waiting|unfound)|g$|vector_store_claims$|CONSTANT|path|weight|subtree|walk|up|best$|(?:json_each|pragma_function_list) VIRTUAL|vector_words VIRTUAL TABLE INDEX 0:=|w VIRTUAL TABLE INDEX 0:M|\()|responses_by_time \(owner=\?\)|responses_by_expiry \(expires_at>\?\)|conversation_items USING PRIMARY KEY \(conversation=\?\)$/;

/** What may: a list reads a page of an index in its order, others need all of something, or up to a limit. */
const MAY = [
  /^SELECT r\.response, r\.size FROM responses r WHERE r\.owner = \?1 .* ORDER BY r\.created_at \w+, r\.id \w+ LIMIT/,
  /^SELECT queue, id, data, attempts FROM jobs/,
  /^SELECT group_concat\(body/,
  /^DELETE FROM conversation_items WHERE conversation = \?1 AND position IN/,
  // An export reads everything.
  /^SELECT name, value FROM secrets/,
  /^SELECT name (?:AS tenant )?FROM tenants/,
];

function recordOf(index: number): NewResponse {
  return {
    tenant: TENANT,
    id: `r${index}`,
    parentId: index === 0 ? null : 'r0',
    sessionId: 'r0',
    status: 'completed',
    model: 'model',
    createdAt: index,
    expiresAt: 1000 + index,
    isContinuable: true,
    metadata: { a: 'b', c: 'd' },
    origin: null,
    body: '{}',
    inherited: [],
    input: [{ id: `in${index}`, text: '{}' }],
    output: [],
    given: [],
    conversation: null,
    usage: null,
  };
}

/** Not every list has the cursor. */
function unlessUnknown(read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof UnknownCursorError)) throw error;
  }
}

describe('the statements of SQLite', () => {
  const database = new DatabaseSync(':memory:');
  const texts = new Set<string>();

  beforeAll(() => {
    for (const migration of MIGRATIONS) database.exec(migration);
    const prepare = jest.spyOn(database, 'prepare');
    const operations = operationsOf(database, () => 1, Infinity);
    for (let index = 0; index < 1000; index += 1) operations['responses.save'](recordOf(index));
    for (const page of PAGES) {
      for (const filter of FILTERS) unlessUnknown(() => operations['graph.list'](TENANT, filter, page));
      for (const relatives of ['children', 'siblings', 'leaves'] as const) {
        const responseId = relatives === 'siblings' ? 'r2' : 'r0';
        unlessUnknown(() => operations[`graph.${relatives}`](TENANT, responseId, page));
      }
    }
    for (const [text] of prepare.mock.calls) texts.add(text);
    prepare.mockRestore();
  });

  const tooMuch = (): readonly string[] =>
    [...texts].flatMap((text) => {
      const statement = text.replaceAll(/\s+/g, ' ').trim();
      if (MAY.some((known) => known.test(statement))) return [];
      const plan = database.prepare(`EXPLAIN QUERY PLAN ${text}`).all();
      const steps = plan.map(({ detail }) => String(detail)).filter((detail) => READS_TOO_MUCH.test(detail));
      return steps.map((step) => `${step}: ${statement}`);
    });

  it('the statements of SQLite read no more than they need', () => {
    expect(texts.size).toBeGreaterThan(80);
    expect(tooMuch()).toEqual([]);
  });

  it('the statements of SQLite read no more with statistics, which a file has after a restart', () => {
    database.exec('ANALYZE');
    expect(tooMuch()).toEqual([]);
  });
});
