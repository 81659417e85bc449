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

/** A chunk to write. */
export type NewChunk = readonly [
  document: string,
  position: number,
  text: string,
  vector: Uint8Array,
  signs: string,
  words: readonly string[],
];

const COLUMNS = ['document', 'position', 'text', 'vector', 'signs', 'words'];
const VALUES = '$1, $2, $3, $4, $5::bit varying, array_to_tsvector($6::text[])';
const CHANGES = COLUMNS.slice(2)
  .map((name) => `${name} = excluded.${name}`)
  .join(', ');

export const APPEND = prepared<NewChunk, never>(
  'append_chunk',
  `INSERT INTO antiphon.vector_chunks (${COLUMNS.join(', ')}) VALUES (${VALUES})
  ON CONFLICT (document, position) DO UPDATE SET ${CHANGES}`,
);

/** Writes with it what pgvector searches of it; `type`: that of the column. */
export function appendWithHalf(type: string) {
  return prepared<readonly [...NewChunk, half: string | null], never>(
    'append_chunk_with_half',
    `INSERT INTO antiphon.vector_chunks (${COLUMNS.join(', ')}, half) VALUES (${VALUES}, $7::text::${type})
    ON CONFLICT (document, position) DO UPDATE SET ${CHANGES}, half = excluded.half`,
  );
}
