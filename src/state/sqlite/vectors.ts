import { hash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../keys.js';
import { type ChunkHit, type ChunkQuery, productOf, type VectorIndex, wordsOf } from '../vector-index.js';
import { type ChunkRow, type PublishedRow, readChunk, toBytes, toDocument, toHit, toVector } from '../sql/chunks.js';
import type { Executed } from './executed.js';
import { tenantNumbers } from './statements/visible.js';
import { statementRunner } from './run-statements.js';
import { DISCARD_DOCUMENTS } from './vector-stores.js';

type Row = Readonly<Record<string, unknown>>;

/** The documents that a query names: ?1 their owner, ?2 their stores, ?3 their numbers or null for all. */
const WANTED = `d.owner = ?1 AND d.attributes IS NOT NULL AND d.store_id IN (SELECT value FROM json_each(?2))
  AND (?3 IS NULL OR d.document IN (SELECT value FROM json_each(?3)))`;

/** Chunks that one purge frees at most. */
const CHUNKS = 64;

const HIT = 'd.document, d.names, c.position, c.text';

/**
 * Chunks of documents. Each search of vectors compares all those of its stores, by sqlite-vec where that is loaded: exact, and with ten thousand of
 * them some tens of ms. Words are found by FTS5, in the scope of their store.
 */
export function sqliteVectors(database: DatabaseSync): Executed<VectorIndex> {
  const tenants = tenantNumbers(database);
  /** What the vectors of the running search are compared with. */
  let sought = new Float32Array();
  database.function('similarity', { deterministic: true }, (bytes: unknown) =>
    productOf(sought, toVector(bytes as Uint8Array)),
  );
  // Three times as fast. It fails for other lengths, which a plan may have it see.
  const isVec = hasVec(database);
  const similarity = isVec
    ? 'CASE WHEN length(c.vector) = ?4 THEN 1 - vec_distance_cosine(c.vector, ?6) END'
    : 'similarity(c.vector)';
  const create = database.prepare(
    'INSERT INTO vector_documents (owner, store_id, file_id, names) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING',
  );
  const findDraft = database.prepare(
    'SELECT document FROM vector_documents WHERE owner = ? AND store_id = ? AND file_id = ? AND attributes IS NULL',
  );
  const findPublished = database.prepare(
    'SELECT document FROM vector_documents WHERE owner = ? AND store_id = ? AND file_id = ? AND attributes IS NOT NULL',
  );
  const count = database.prepare('SELECT count(*) AS count FROM vector_chunks WHERE document = ?');
  const show = database.prepare('UPDATE vector_documents SET attributes = ? WHERE document = ?');
  const list = database.prepare(
    `SELECT document, names, attributes FROM vector_documents d WHERE ${WANTED} ORDER BY document`,
  );
  const chunkAt = database.prepare('SELECT chunk FROM vector_chunks WHERE document = ? AND position = ?');
  const addChunk = database.prepare(
    'INSERT INTO vector_chunks (document, position, text, vector) VALUES (?, ?, ?, ?) RETURNING chunk',
  );
  const addWords = database.prepare('INSERT INTO vector_words (rowid, scope, text) VALUES (?, ?, ?)');
  const removeChunk = database.prepare('DELETE FROM vector_chunks WHERE chunk = ?');
  const removeWords = database.prepare('DELETE FROM vector_words WHERE rowid = ?');
  const run = statementRunner(database, Object.values(DISCARD_DOCUMENTS));
  const garbage = database.prepare(
    `SELECT g.document, c.chunk FROM vector_garbage g JOIN vector_chunks c ON c.document = g.document
    ORDER BY g.document LIMIT ${CHUNKS}`,
  );
  const removeGarbage = database.prepare('DELETE FROM vector_garbage WHERE document < ?');
  const texts = database.prepare('SELECT text FROM vector_chunks WHERE document = ? ORDER BY position');
  // The best are chosen before their texts are read.
  const nearest = database.prepare(
    `SELECT ${HIT}, best.score FROM (
      SELECT c.chunk, ${similarity} AS score
      FROM vector_documents d JOIN vector_chunks c ON c.document = d.document
      WHERE ${WANTED} AND length(c.vector) = ?4 ORDER BY score DESC, c.chunk LIMIT ?5
    ) best JOIN vector_chunks c ON c.chunk = best.chunk JOIN vector_documents d ON d.document = c.document
    ORDER BY best.score DESC, c.chunk`,
  );
  const matching = database.prepare(
    `SELECT ${HIT}, -bm25(vector_words, 0, 1) AS score FROM vector_words w
    JOIN vector_chunks c ON c.chunk = w.rowid JOIN vector_documents d ON d.document = c.document
    WHERE vector_words MATCH ?4 AND ${WANTED} ORDER BY score DESC, c.chunk LIMIT ?5`,
  );

  const draftOf = (tenant: string, storeId: string, fileId: string): Row | undefined =>
    findDraft.get(tenants.find(tenant), toKey(storeId), toKey(fileId));
  const publishedOf = (tenant: string, storeId: string, fileId: string): Row | undefined =>
    findPublished.get(tenants.find(tenant), toKey(storeId), toKey(fileId));
  const findOrBegin = (tenant: string, storeId: string, fileId: string): number => {
    const names = JSON.stringify([storeId, fileId]);
    create.run(tenants.findOrCreate(tenant), toKey(storeId), toKey(fileId), names);
    return Number(draftOf(tenant, storeId, fileId)?.['document']);
  };
  const forgetChunk = (row: Row | undefined): void => {
    if (row === undefined) return;
    removeWords.run(Number(row['chunk']));
    removeChunk.run(Number(row['chunk']));
  };
  const forget = (row: Row | undefined): void => {
    if (row === undefined) return;
    for (const statement of Object.values(DISCARD_DOCUMENTS)) run(statement, [[Number(row['document'])]]);
  };
  const wanted = (tenant: string, { storeIds, documents }: Omit<ChunkQuery, 'limit'>) =>
    [
      tenants.find(tenant),
      JSON.stringify(storeIds.map(toKey)),
      documents === undefined ? null : JSON.stringify(documents),
    ] as const;

  return {
    append: (tenant, storeId, fileId, chunks) => {
      if (chunks.some(({ position }) => position === 0)) forget(draftOf(tenant, storeId, fileId));
      const document = findOrBegin(tenant, storeId, fileId);
      const scope = scopeOf(tenant, storeId);
      for (const { position, text, vector } of chunks) {
        forgetChunk(chunkAt.get(document, position));
        const row = addChunk.get(document, position, JSON.stringify(text), toBytes(vector));
        addWords.run(Number(row?.['chunk']), scope, text);
      }
    },

    publish: (tenant, storeId, fileId, { attributes, count: expected }) => {
      const document = findOrBegin(tenant, storeId, fileId);
      if (Number(count.get(document)?.['count']) !== expected) {
        forget({ document });
        return false;
      }
      forget(publishedOf(tenant, storeId, fileId));
      show.run(JSON.stringify(attributes), document);
      return true;
    },

    describe: (tenant, storeId, fileId, attributes) => {
      const row = publishedOf(tenant, storeId, fileId);
      if (row === undefined) return false;
      show.run(JSON.stringify(attributes), Number(row['document']));
      return true;
    },

    documents: (tenant, storeIds) =>
      (list.all(...wanted(tenant, { storeIds })) as unknown as readonly PublishedRow[]).map(toDocument),

    texts: (tenant, storeId, fileId) => {
      const row = publishedOf(tenant, storeId, fileId);
      if (row === undefined) return [];
      return texts.all(Number(row['document'])).map(({ text }) => readChunk(String(text), { storeId, fileId }));
    },

    nearest: (tenant, vector, query) => {
      sought = Float32Array.from(vector);
      const values = [...wanted(tenant, query), vector.byteLength, query.limit] as const;
      return toHits(isVec ? nearest.all(...values, toBytes(vector)) : nearest.all(...values));
    },

    matching: (tenant, text, query) => {
      const words = wordsOf(text);
      if (words.length === 0) return [];
      const scopes = query.storeIds.map((storeId) => scopeOf(tenant, storeId)).join(' OR ');
      const sought = words.map((word) => `"${word}"`).join(' OR ');
      const match = `scope : (${scopes}) AND text : (${sought})`;
      return query.storeIds.length === 0 ? [] : toHits(matching.all(...wanted(tenant, query), match, query.limit));
    },

    purge: () => {
      const chunks = garbage.all();
      for (const chunk of chunks) forgetChunk(chunk);
      const isMore = chunks.length === CHUNKS;
      // The last document may have more chunks.
      removeGarbage.run(isMore ? Number(chunks.at(-1)?.['document']) : Number.MAX_SAFE_INTEGER);
      return isMore;
    },
  };
}

/** Whether sqlite-vec is loaded. */
function hasVec(database: DatabaseSync): boolean {
  return database.prepare(`SELECT 1 FROM pragma_function_list WHERE name = 'vec_distance_cosine'`).get() !== undefined;
}

/** A word that only the chunks of a store have. */
function scopeOf(tenant: string, storeId: string): string {
  return `s${hash('sha256', JSON.stringify([tenant, storeId])).slice(0, 32)}`;
}

function toHits(rows: readonly unknown[]): readonly ChunkHit[] {
  return (rows as readonly (ChunkRow & { readonly score: number })[]).map((row) => toHit(row, row.score));
}
