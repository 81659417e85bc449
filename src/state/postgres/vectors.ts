import type { Tenant } from '../../access/index.js';
import { toKey } from '../keys.js';
import {
  type Attributes,
  type ChunkHit,
  type ChunkQuery,
  type IndexedDocument,
  productOf,
  type VectorChunk,
  VectorIndex,
  wordsOf,
} from '../vector-index.js';
import { type ChunkRow, type PublishedRow, readChunk, toBytes, toDocument, toHit, toVector } from '../sql/chunks.js';
import { prepared, type RunStatement } from '../sql/statement.js';
import { STORE_BATCH as BATCH } from '../sql/statements/vector-stores.js';
import type { Database } from './database.js';
import type { Pgvector } from './pgvector.js';
import { discard } from './vector-stores.js';
import { type Candidate, OF_WANTED, type Wanted, WANTED } from './statements/vectors.js';

/**
 * Chunks whose vectors are compared, for each hit that is wanted, and at least: up to so many, a search is exact. They are the ones whose
 * vectors agree in most bits of `signsOf`.
 */
const CANDIDATES_PER_HIT = 20;
const LEAST_CANDIDATES = 1000;

/** Least bits for a vector: the more, the better they tell which vectors are near. */
const LEAST_BITS = 1024;

/** Characters of a word: PostgreSQL keeps words up to 2 kB. */
const LONGEST_WORD = 500;

type ByFile = readonly [owner: string, storeId: string, fileId: string];

/** Locked, so that a document is written by one at a time. */
const FIND_OR_BEGIN = prepared<readonly [...ByFile, names: string], { readonly document: string }>(
  'begin_document',
  `INSERT INTO antiphon.vector_documents AS d (owner, store_id, file_id, names) VALUES ($1, $2, $3, $4)
  ON CONFLICT (owner, store_id, file_id, (attributes IS NULL)) DO UPDATE SET names = d.names RETURNING document`,
);

const COUNT = prepared<readonly [document: string], { readonly count: number }>(
  'count_chunks',
  'SELECT count(*)::float8 AS count FROM antiphon.vector_chunks WHERE document = $1',
);

const PUBLISH = prepared<readonly [document: string, attributes: string], never>(
  'publish_document',
  'UPDATE antiphon.vector_documents SET attributes = $2 WHERE document = $1',
);

const DESCRIBE = prepared<readonly [...ByFile, attributes: string], unknown>(
  'describe_document',
  `UPDATE antiphon.vector_documents SET attributes = $4
  WHERE owner = $1 AND store_id = $2 AND file_id = $3 AND attributes IS NOT NULL RETURNING 1`,
);

const OF_FILE = 'owner = $1 AND store_id = $2 AND file_id = $3';
const DISCARD_DRAFT = discard<ByFile>('discard_draft', `${OF_FILE} AND attributes IS NULL`);
const DISCARD_PUBLISHED = discard<ByFile>('discard_published', `${OF_FILE} AND attributes IS NOT NULL`);
/** Locked, so that replicas free the chunks of different documents. */
const GARBAGE = prepared<readonly [], { readonly document: string }>(
  'vector_garbage',
  `SELECT document FROM antiphon.vector_garbage ORDER BY document LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`,
);

const FREE = prepared<readonly [documents: readonly string[]], unknown>(
  'free_chunks',
  `DELETE FROM antiphon.vector_chunks WHERE (document, position) IN (
    SELECT c.document, c.position FROM unnest($1::bigint[]) AS g (document)
    CROSS JOIN LATERAL (
      SELECT document, position FROM antiphon.vector_chunks WHERE document = g.document ORDER BY position LIMIT ${BATCH}
    ) c LIMIT ${BATCH}
  ) RETURNING 1`,
);

const FORGET_GARBAGE = prepared<readonly [documents: readonly string[]], never>(
  'forget_garbage',
  `DELETE FROM antiphon.vector_garbage g WHERE document = ANY ($1::bigint[])
  AND NOT EXISTS (SELECT FROM antiphon.vector_chunks c WHERE c.document = g.document)`,
);

const LIST = prepared<Wanted, PublishedRow>(
  'vector_documents',
  `SELECT document, names, attributes FROM antiphon.vector_documents d WHERE ${WANTED} ORDER BY document`,
);

const TEXTS = prepared<ByFile, { readonly text: string }>(
  'document_texts',
  `SELECT c.text FROM antiphon.vector_documents d JOIN antiphon.vector_chunks c USING (document)
  WHERE d.owner = $1 AND d.store_id = $2 AND d.file_id = $3 AND d.attributes IS NOT NULL ORDER BY c.position`,
);

/** Bits of different lengths cannot be compared, so the length is checked first; vectors as long as each other have as many. */
const CANDIDATES = nearBySigns('near_chunks');

/** Candidates among the chunks that pgvector does not know. */
const LEFT_CANDIDATES = nearBySigns('near_chunks_without_half', 'AND c.half IS NULL');

function nearBySigns(name: string, which = '') {
  return prepared<readonly [...Wanted, signs: string, vectorBytes: number, limit: number], Candidate>(
    name,
    `SELECT c.document, c.position, c.vector FROM antiphon.vector_chunks c
    WHERE ${OF_WANTED} AND length(c.vector) = $5 ${which}
    ORDER BY CASE WHEN length(c.vector) = $5 THEN bit_count(c.signs # $4::bit varying) END, c.document, c.position LIMIT $6`,
  );
}

const READ = prepared<readonly [documents: readonly string[], positions: readonly number[]], ChunkRow>(
  'read_chunks',
  `SELECT d.document, d.names, c.position, c.text
  FROM unnest($1::bigint[], $2::integer[]) WITH ORDINALITY AS best (document, position, rank)
    JOIN antiphon.vector_documents d ON d.document = best.document
    JOIN antiphon.vector_chunks c ON c.document = best.document AND c.position = best.position
  ORDER BY best.rank`,
);

const MATCHING = prepared<readonly [...Wanted, query: string, limit: number], ChunkRow & { readonly score: number }>(
  'matching_chunks',
  `SELECT d.document, d.names, c.position, c.text, ts_rank(c.words, $4::tsquery)::float8 AS score
  FROM antiphon.vector_documents d JOIN antiphon.vector_chunks c USING (document)
  WHERE ${WANTED} AND c.words @@ $4::tsquery
  ORDER BY score DESC, c.document, c.position LIMIT $5`,
);

/**
 * Chunks in PostgreSQL. The database chooses candidates, by pgvector where it is used, else by bits that tell their directions, and this process
 * compares their vectors.
 */
export class PostgresVectorIndex extends VectorIndex {
  constructor(
    private readonly database: Database,
    private readonly pgvector: Pgvector,
  ) {
    super();
  }

  override async append(tenant: Tenant, storeId: string, fileId: string, chunks: readonly VectorChunk[]) {
    const file = toFile(tenant, storeId, fileId);
    await this.database.transaction(async (run) => {
      if (chunks.some(({ position }) => position === 0)) await run(DISCARD_DRAFT, file);
      const document = await findOrBegin(run, file, [storeId, fileId]);
      const vectors = chunks.map(({ vector }) => vector);
      const columns = [
        chunks.map(({ position }) => position),
        chunks.map(({ text }) => JSON.stringify(text)),
        vectors.map(toBytes),
        vectors.map(signsOf),
        chunks.map(({ text }) => keptWords(text).join(' ')),
      ] as const;
      await this.pgvector.append(run, [document, ...columns], vectors);
    });
  }

  override async publish(...[tenant, storeId, fileId, { attributes, count }]: Parameters<VectorIndex['publish']>) {
    const file = toFile(tenant, storeId, fileId);
    return this.database.transaction(async (run) => {
      const document = await findOrBegin(run, file, [storeId, fileId]);
      const [counted] = await run(COUNT, [document]);
      if (counted?.count !== count) {
        await run(DISCARD_DRAFT, file);
        return false;
      }
      await run(DISCARD_PUBLISHED, file);
      await run(PUBLISH, [document, JSON.stringify(attributes)]);
      return true;
    });
  }

  override async describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes): Promise<boolean> {
    const values = [...toFile(tenant, storeId, fileId), JSON.stringify(attributes)] as const;
    return (await this.database.repeatable(DESCRIBE, values)).length > 0;
  }

  override async documents(tenant: Tenant, storeIds: readonly string[]): Promise<readonly IndexedDocument[]> {
    const rows = await this.database.repeatable(LIST, wanted(tenant, { storeIds }));
    return rows.map(toDocument);
  }

  override async texts(tenant: Tenant, storeId: string, fileId: string): Promise<readonly string[]> {
    const rows = await this.database.repeatable(TEXTS, toFile(tenant, storeId, fileId));
    return rows.map(({ text }) => readChunk(text, { storeId, fileId }));
  }

  override async nearest(tenant: Tenant, vector: Float32Array, query: ChunkQuery): Promise<readonly ChunkHit[]> {
    const limit = Math.max(LEAST_CANDIDATES, query.limit * CANDIDATES_PER_HIT);
    const where = wanted(tenant, query);
    const bySigns = this.pgvector.isUsed ? LEFT_CANDIDATES : CANDIDATES;
    const candidates = await Promise.all([
      this.pgvector.candidates(where, vector, query),
      this.database.repeatable(bySigns, [...where, signsOf(vector), vector.byteLength, limit]),
    ]);
    const best = candidates
      .flat()
      .map(({ document, position, vector: bytes }) => ({
        ...{ document, position },
        score: productOf(vector, toVector(bytes)) ?? -1,
      }))
      .sort((one, other) => other.score - one.score)
      .slice(0, query.limit);
    const places = [best.map(({ document }) => document), best.map(({ position }) => position)] as const;
    const scores = new Map(best.map(({ document, position, score }) => [`${document} ${position}`, score]));
    const rows = best.length === 0 ? [] : await this.database.repeatable(READ, places);
    return rows.map((row) => toHit(row, scores.get(`${row.document} ${row.position}`) ?? 0));
  }

  override async matching(tenant: Tenant, text: string, query: ChunkQuery): Promise<readonly ChunkHit[]> {
    const words = wordsOf(text).filter(isKept);
    if (words.length === 0) return [];
    const sought = words.map((word) => `'${word}'`).join(' | ');
    const rows = await this.database.repeatable(MATCHING, [...wanted(tenant, query), sought, query.limit]);
    return rows.map((row) => toHit(row, row.score));
  }

  override async purge(): Promise<boolean> {
    const isMore = await this.database.transaction(async (run) => {
      const documents = (await run(GARBAGE, [])).map(({ document }) => document);
      const freed = await run(FREE, [documents]);
      await run(FORGET_GARBAGE, [documents]);
      return documents.length === BATCH || freed.length === BATCH;
    });
    return isMore || this.pgvector.backfill();
  }
}

/** The number of the document that is being written. */
async function findOrBegin(run: RunStatement, file: ByFile, names: readonly [string, string]): Promise<string> {
  const [row] = await run(FIND_OR_BEGIN, [...file, JSON.stringify(names)]);
  if (row === undefined) throw new Error('a document was not stored');
  return row.document;
}

function toFile(tenant: Tenant, storeId: string, fileId: string): ByFile {
  return [toKey(tenant), toKey(storeId), toKey(fileId)];
}

function wanted(tenant: Tenant, { storeIds, documents }: Omit<ChunkQuery, 'limit'>): Wanted {
  return [toKey(tenant), storeIds.map(toKey), documents ?? null];
}

function keptWords(text: string): readonly string[] {
  return wordsOf(text, Infinity).filter(isKept);
}

function isKept(word: string): boolean {
  return word.length <= LONGEST_WORD;
}

/**
 * Bits of a vector: two vectors differ in about as many of them as the angle between them is of a half-turn. They are the signs of the numbers
 * of the vector in turned coordinates, which mix all numbers, so that none of them matters more than others. Stored bits depend on
 * every line of this: a change needs a migration.
 */
function signsOf(vector: Float32Array): string {
  const size = 2 ** Math.ceil(Math.log2(vector.length));
  let signs = '';
  for (let turn = 0; signs.length < LEAST_BITS; turn++) {
    for (const value of turned(vector, size, turn)) signs += value > 0 ? '1' : '0';
  }
  return signs;
}

/** The Walsh–Hadamard transform of a vector in which every other number, at random, has changed its sign. */
function turned(vector: Float32Array, size: number, turn: number): Float32Array {
  const result = new Float32Array(size);
  // Xorshift: the same signs everywhere, and for each turn others.
  let state = 0x9e3779b9 ^ (turn + 1);
  for (const [index, value] of vector.entries()) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    result[index] = (state & 1) === 0 ? value : -value;
  }
  for (let half = 1; half < size; half *= 2) {
    for (let at = 0; at < size; at++) {
      if ((at & half) !== 0) continue;
      const [one, other] = [result[at] as number, result[at + half] as number];
      result[at] = one + other;
      result[at + half] = one - other;
    }
  }
  return result;
}
