import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { BOOKMARK_MS } from '../../src/state/index.js';
import { DONE, file, store } from '../../src/testing/state/parts/vector-stores.js';
import { newTenant } from '../../src/testing/state/records.js';
import { openPostgres, type OpenedPostgres } from './postgres-fixture.js';
import { SentStatements } from './sent-statements.js';

const DROPPED = 5000;

describe('the purge of vector stores in PostgreSQL', () => {
  const tenant = newTenant();
  let opened: OpenedPostgres;

  beforeAll(async () => {
    opened = await openPostgres();
  });
  afterAll(() => opened.close());

  it('the purge of vector stores reads of what was dropped only as much as it frees', async () => {
    const { backend, database } = opened;
    await database.query(`INSERT INTO antiphon.vector_garbage SELECT generate_series(1, ${DROPPED})`);
    await database.query(
      `INSERT INTO antiphon.vector_chunks (document, position, text, vector, signs, words)
      SELECT document, position, '"x"', '', '', '' FROM antiphon.vector_garbage, generate_series(0, 3) AS position`,
    );
    await database.query('ANALYZE');
    using statements = new SentStatements();
    await backend.vectors.purge();
    for (const { text, values } of statements.take().filter((each) => each.values !== undefined)) {
      const plan = (await database.query(`EXPLAIN ${text}`, values)).map((row) => String(row['QUERY PLAN'])).join('\n');
      // Whatever reads all of a table reads it anew with each of the batches.
      expect(plan).not.toMatch(/Seq Scan on vector_|(?:Hash|Merge) (?:Anti|Semi)? ?Join/);
    }
    while (await backend.vectors.purge());
    for (const table of ['vector_garbage', 'vector_chunks']) {
      expect(await database.query(`SELECT FROM antiphon.${table}`)).toEqual([]);
    }
  });

  it('the purge of vector stores looks no more at files that have failed, and at stores that have expired, once nobody can write of them', async () => {
    const { vectorStores } = opened.backend;
    const { clock, database } = opened;
    await vectorStores.create(tenant, store('s'), Infinity);
    await vectorStores.create(tenant, store('expires', { expiresAfterDays: 1 }), Infinity);
    await vectorStores.add(tenant, 's', [file('s', 'failed', { status: 'failed' }), file('s', 'kept', DONE)], null);
    const watched = async (): Promise<number> => {
      const [row] = await database.query(
        `SELECT (SELECT count(*) FROM antiphon.vector_store_files WHERE unfound_at IS NOT NULL)
          + (SELECT count(*) FROM antiphon.vector_stores WHERE expires_at IS NOT NULL) AS count`,
      );
      return Number(row?.['count']);
    };
    while (await vectorStores.purge());
    expect(await watched()).toBe(2);
    clock.advance(86_400_000 + BOOKMARK_MS);
    while (await vectorStores.purge());
    expect(await watched()).toBe(0);
  });
});
