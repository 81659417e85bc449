import { prepared } from '../../sql/statement.js';

/** Whose chunks are looked at: of these stores, and of these documents or, with null, of all of them. */
export type Wanted = readonly [owner: string, storeIds: readonly string[], documents: readonly number[] | null];

/** The documents that a query names. */
export const WANTED = `d.owner = $1 AND d.attributes IS NOT NULL AND d.store_id = ANY ($2::text[])
  AND ($3::bigint[] IS NULL OR d.document = ANY ($3))`;

/** The chunks of these documents. An array: the planner takes a join for far smaller than it is, and looks up the document of each chunk. */
export const OF_WANTED = `c.document = ANY (ARRAY(SELECT d.document FROM antiphon.vector_documents d WHERE ${WANTED}))`;

/** A chunk that may be among the nearest. */
export interface Candidate {
  readonly document: string;
  readonly position: number;
  readonly vector: Buffer;
}

/** Chunks of a document to write, by column. */
export type NewChunks = readonly [
  document: string,
  positions: readonly number[],
  texts: readonly string[],
  vectors: readonly Uint8Array[],
  signs: readonly string[],
  /** With spaces between them. */
  words: readonly string[],
];

const COLUMNS = ['document', 'position', 'text', 'vector', 'signs', 'words'];
const VALUES = `$1::bigint, n.position, n.text, n.vector, n.signs::bit varying, array_to_tsvector(string_to_array(n.words, ' '))`;
const ARRAYS = '$2::int[], $3::text[], $4::bytea[], $5::text[], $6::text[]';
const CHANGES = COLUMNS.slice(2)
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');

export const APPEND = prepared<NewChunks, never>(
  'append_chunks',
  `INSERT INTO antiphon.vector_chunks (${COLUMNS.join(', ')})
  SELECT ${VALUES} FROM unnest(${ARRAYS}) AS n (${COLUMNS.slice(1).join(', ')})
  ON CONFLICT (document, position) DO UPDATE SET ${CHANGES}`,
);

/** Writes with them what pgvector searches of them; `type`: that of the column. */
export function appendWithHalf(type: string) {
  return prepared<readonly [...NewChunks, halves: readonly (string | null)[]], never>(
    'append_chunks_with_half',
    `INSERT INTO antiphon.vector_chunks (${COLUMNS.join(', ')}, half)
    SELECT ${VALUES}, n.half::${type} FROM unnest(${ARRAYS}, $7::text[]) AS n (${COLUMNS.slice(1).join(', ')}, half)
    ON CONFLICT (document, position) DO UPDATE SET ${CHANGES}, half = excluded.half`,
  );
}
