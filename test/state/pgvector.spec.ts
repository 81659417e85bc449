// Slow: PGlite compiles PostgreSQL before it starts.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { asTenant } from '../../src/access/index.js';
import type { VectorChunk, VectorIndex } from '../../src/state/index.js';
import { PostgresBackend } from '../../src/state/postgres/index.js';
import { stateContract } from '../../src/testing/index.js';
import { SystemClock } from '../../src/time/index.js';
import { createEmptyDatabase, createTestDatabase } from '../support/postgres/test-database.js';
import { openPgvector, type PgvectorServer } from './pgvector-fixture.js';
import { settingsFor } from './postgres-fixture.js';

const TENANT = asTenant('tests');

function chunk(position: number, ...numbers: readonly number[]): VectorChunk {
  return { position, text: `chunk ${position}`, vector: Float32Array.from(numbers) };
}

async function add(vectors: VectorIndex, fileId: string, ...chunks: readonly VectorChunk[]): Promise<void> {
  await vectors.append(TENANT, 's', fileId, chunks);
  await vectors.publish(TENANT, 's', fileId, { attributes: {}, count: chunks.length });
}

async function nearest(vectors: VectorIndex): Promise<readonly string[]> {
  const hits = await vectors.nearest(TENANT, Float32Array.of(1, 0), { storeIds: ['s'], limit: 10 });
  return hits.map(({ fileId, score }) => `${fileId} ${score.toFixed(1)}`);
}

describe('with pgvector', () => {
  const groups = stateContract({
    open: async () => {
      const server = await openPgvector();
      const backend = await server.start('pgvector');
      const close = async (): Promise<void> => server[Symbol.asyncDispose]();
      const left = (): never => {
        throw new Error('vectors need none of this');
      };
      return {
        ...{ backend, clock: server.clock, close, [Symbol.asyncDispose]: close },
        ...{ saveMany: left, content: left, expireLeases: left, enqueue: left, untilHeld: left, ageJobs: left },
      };
    },
  }).filter(({ contract }) => contract === 'vectors');

  describe.each(groups)('$name', ({ cases, close }) => {
    afterAll(close);
    it.each(cases)('$name', ({ run }) => run());
  });
});

describe('pgvector', () => {
  let server: PgvectorServer;

  beforeAll(async () => {
    server = await openPgvector();
  });
  afterAll(async () => server[Symbol.asyncDispose]());

  const missing = async (): Promise<number> => {
    const [row] = await server.query('SELECT count(*) AS count FROM antiphon.vector_chunks WHERE half IS NULL');
    return Number(row?.['count']);
  };

  it('pgvector is used once it was asked for, and finds what was written before and while it was off', async () => {
    const before = await server.start('auto');
    await add(before.vectors, 'before', chunk(0, 1, 0));
    // Nobody has asked for an extension yet.
    expect(await server.query(`SELECT FROM pg_extension WHERE extname = 'vector'`)).toEqual([]);

    const asked = await server.start('pgvector');
    await add(asked.vectors, 'asked', chunk(0, 0.8, 0.6));
    expect(await missing()).toBe(1);
    expect(await nearest(asked.vectors)).toEqual(['before 1.0', 'asked 0.8']);

    const off = await server.start('bits');
    await add(off.vectors, 'off', chunk(0, 0.6, 0.8));
    expect(await nearest(off.vectors)).toEqual(['before 1.0', 'asked 0.8', 'off 0.6']);

    const again = await server.start('auto');
    await add(again.vectors, 'again', chunk(0, 0, 1));
    expect(await missing()).toBe(2);
    expect(await nearest(again.vectors)).toEqual(['before 1.0', 'asked 0.8', 'off 0.6', 'again 0.0']);
    while (await again.vectors.purge());
    expect(await missing()).toBe(0);
    expect(await nearest(again.vectors)).toEqual(['before 1.0', 'asked 0.8', 'off 0.6', 'again 0.0']);
  });

  it('pgvector leaves vectors that are too long for it to the bits', async () => {
    const { vectors } = await server.start('pgvector');
    const long = Float32Array.from({ length: 20_000 }, (_, index) => (index === 0 ? 1 : 0));
    await vectors.append(TENANT, 'long', 'f', [{ position: 0, text: 'long', vector: long }]);
    await vectors.publish(TENANT, 'long', 'f', { attributes: {}, count: 1 });
    const hits = await vectors.nearest(TENANT, long, { storeIds: ['long'], limit: 1 });
    expect(hits).toMatchObject([{ fileId: 'f', score: 1 }]);
    while (await vectors.purge());
  });
});

describe('a PostgreSQL without pgvector', () => {
  it.each([true, false])(
    'a PostgreSQL without pgvector is refused with a clear sentence where that is asked for (DATABASE_MIGRATE=%p)',
    async (migrates) => {
      await using database = await createEmptyDatabase();
      const settings = settingsFor(database.url, { POSTGRES_VECTORS: 'pgvector', DATABASE_MIGRATE: migrates });
      await expect(new PostgresBackend(settings, new SystemClock()).start()).rejects.toThrow(
        'POSTGRES_VECTORS: the database server has no extension pgvector. Install it there, or set POSTGRES_VECTORS to auto.',
      );
    },
  );

  it.each(['auto', 'bits'] as const)('a PostgreSQL without pgvector serves with POSTGRES_VECTORS=%s', async (mode) => {
    await using database = await createTestDatabase();
    const backend = new PostgresBackend(settingsFor(database.url, { POSTGRES_VECTORS: mode }), new SystemClock());
    await backend.start();
    await add(backend.vectors, 'f', chunk(0, 1, 0));
    expect(await nearest(backend.vectors)).toEqual(['f 1.0']);
    await backend.stop();
  });
});
