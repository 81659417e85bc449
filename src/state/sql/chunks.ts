import type { Attributes, ChunkHit, IndexedDocument } from '../vector-index.js';

/** A document as a row; `names`: its store and its file, as JSON. PostgreSQL gives numbers of documents as texts. */
export interface DocumentRow {
  readonly document: string | number;
  readonly names: string;
}

/** A document that searches find; its attributes are JSON. */
export interface PublishedRow extends DocumentRow {
  readonly attributes: string;
}

/** A chunk as a row; its text is JSON, so that every text can be read back. */
export interface ChunkRow extends DocumentRow {
  readonly position: number;
  readonly text: string;
}

/** Reads a document. */
export function toDocument({ attributes, ...row }: PublishedRow): IndexedDocument {
  return { ...toNames(row), attributes: JSON.parse(attributes) as Attributes };
}

/** Reads a chunk that a search has found. */
export function toHit(row: ChunkRow, score: number): ChunkHit {
  return { ...toNames(row), position: row.position, text: JSON.parse(row.text) as string, score };
}

/** The bytes of a vector, as they are stored: floats, little-endian. */
export function toBytes({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** A view of stored bytes, which must begin at a multiple of four bytes. */
export function toVector(bytes: Uint8Array): Float32Array {
  const { buffer, byteOffset, byteLength } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  return new Float32Array(buffer, byteOffset, byteLength / 4);
}

function toNames({ document, names }: DocumentRow): Omit<IndexedDocument, 'attributes'> {
  const [storeId, fileId] = JSON.parse(names) as [string, string];
  return { document: Number(document), storeId, fileId };
}
