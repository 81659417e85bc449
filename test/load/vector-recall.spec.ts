// Slow: writes ten thousand vectors to PostgreSQL, without and with pgvector.

import { describe, expect, it } from '@jest/globals';

import { asTenant, type Tenant } from '../../src/access/index.js';
import { productOf, type VectorChunk, type VectorIndex } from '../../src/state/index.js';
import { SeededRandom } from '../../src/simulator/seeded-random.js';
import { BACKENDS } from '../state/backends.js';
import { openPgvector } from '../state/pgvector-fixture.js';

const TENANT = asTenant('tests');
/** PostgreSQL compares the vectors of a tenth of them, by bits of all; the others compare all, of however many. */
const CHUNKS = { postgres: 10_000, others: 2000 };
const PER_DOCUMENT = 100;
const QUERIES = 20;
const BEST = 10;

const DIMENSIONS = 256;
const TOPICS = 50;

/** PGlite takes a millisecond for a chunk of so many numbers, and half of one to build its index. */
const FEW_DIMENSIONS = 16;

const INDEX = `antiphon.vector_chunks_near_${FEW_DIMENSIONS}`;

/** A vector of length 1 in the neighbourhood of a topic, as texts about one are. */
function near(topic: readonly number[], random: SeededRandom): Float32Array {
  const numbers = topic.map((value) => value + random.pickNormal());
  const length = Math.hypot(...numbers);
  return Float32Array.from(numbers, (value) => value / length);
}

const OTHERS = asTenant('others');

/** Writes documents of a store, and returns their vectors. */
async function write(
  vectors: VectorIndex,
  tenant: Tenant,
  chunks: number,
  draw: () => Float32Array,
): Promise<readonly Float32Array[]> {
  const all: Float32Array[] = [];
  for (let document = 0; document < chunks / PER_DOCUMENT; document++) {
    const some = Array.from({ length: PER_DOCUMENT }, (_, position): VectorChunk => {
      return { position, text: `chunk ${position}`, vector: draw() };
    });
    all.push(...some.map(({ vector }) => vector));
    await vectors.append(tenant, 'store', `file-${document}`, some);
    await vectors.publish(tenant, 'store', `file-${document}`, { attributes: {}, count: some.length });
  }
  return all;
}

/** The part of the nearest that is found, of all documents, and of every other one. */
async function recallOf(
  vectors: VectorIndex,
  all: readonly Float32Array[],
  draw: () => Float32Array,
): Promise<readonly number[]> {
  const documents = (await vectors.documents(TENANT, ['store'])).map(({ document }) => document);
  const recalls: number[] = [];
  for (const every of [1, 2]) {
    let found = 0;
    for (let asked = 0; asked < QUERIES; asked++) {
      const query = draw();
      const scored = all.flatMap((vector, index) =>
        Math.floor(index / PER_DOCUMENT) % every === 0 ? [[index, productOf(query, vector) ?? -1] as const] : [],
      );
      const nearest = scored.sort(([, one], [, other]) => other - one).slice(0, BEST);
      const which = every === 1 ? {} : { documents: documents.filter((_, index) => index % every === 0) };
      const hits = await vectors.nearest(TENANT, query, { storeIds: ['store'], limit: BEST, ...which });
      const places = new Set(hits.map(({ fileId, position }) => `${fileId} ${position}`));
      for (const [index] of nearest) {
        if (places.has(`file-${Math.floor(index / PER_DOCUMENT)} ${index % PER_DOCUMENT}`)) found += 1;
      }
    }
    recalls.push(found / (QUERIES * BEST));
  }
  return recalls;
}

/** Vectors about topics. */
function drawer(dimensions: number): () => Float32Array {
  const random = new SeededRandom('recall');
  const topics = Array.from({ length: TOPICS }, () => Array.from({ length: dimensions }, () => random.pickNormal()));
  return () => near(random.pick(topics), random);
}

describe.each(BACKENDS.filter(({ without = [] }) => !without.includes('vectors')))(
  'vectors in $name',
  ({ name, open }) => {
    const chunks = name === 'postgres' ? CHUNKS.postgres : CHUNKS.others;

    it(`a search finds at least 95 % of the ${BEST} nearest of ${chunks} chunks, also of half of the documents`, async () => {
      await using opened = await open();
      const { vectors } = opened.backend;
      if (vectors === undefined) throw new Error('the backend has no VectorIndex');
      const draw = drawer(DIMENSIONS);
      const all = await write(vectors, TENANT, chunks, draw);
      for (const recall of await recallOf(vectors, all, draw)) expect(recall).toBeGreaterThanOrEqual(0.95);
    });
  },
);

describe('vectors in PostgreSQL with pgvector', () => {
  it('a search finds as much by an index that also has the vectors of another tenant', async () => {
    await using server = await openPgvector();
    const { vectors: written } = await server.start('pgvector');
    const draw = drawer(FEW_DIMENSIONS);
    await write(written, OTHERS, 300, draw);
    // So many that half of them are compared one by one, and all of them are not.
    const all = await write(written, TENANT, 10_100, draw);
    const isBuilt = async (): Promise<boolean> =>
      (await server.query('SELECT FROM pg_index WHERE indexrelid = $1::text::regclass AND indisvalid', [INDEX]))
        .length > 0;
    while (await written.purge());
    while (!(await isBuilt().catch(() => false)));
    // What starts now finds the index.
    const { vectors } = await server.start('auto');
    for (const recall of await recallOf(vectors, all, draw)) expect(recall).toBeGreaterThanOrEqual(0.95);
    // PostgreSQL writes its statistics now and then, or when it is asked to.
    await server.query('SELECT pg_stat_force_next_flush()', []);
    await vectors.nearest(TENANT, draw(), { storeIds: ['store'], limit: 1 });
    const [used] = await server.query(
      'SELECT idx_scan > 0 AS is FROM pg_stat_user_indexes WHERE indexrelid = $1::text::regclass',
      [INDEX],
    );
    expect(used).toEqual({ is: true });
  }, 1_800_000);
});
