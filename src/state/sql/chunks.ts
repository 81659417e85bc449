import { parseStored } from '../read-record.js';
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

type NamedFile = Pick<IndexedDocument, 'storeId' | 'fileId'>;

/** Reads a document. Throws DamagedRecordError. */
export function toDocument({ attributes, ...row }: PublishedRow): IndexedDocument {
  const names = toNames(row);
  return { ...names, attributes: parseStored(attributes, recordOf(names)) as Attributes };
}

/** Reads a chunk that a search has found. Throws DamagedRecordError. */
export function toHit(row: ChunkRow, score: number): ChunkHit {
  const names = toNames(row);
  return { ...names, position: row.position, text: readChunk(row.text, names), score };
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

/** Parses the text of a chunk. Throws DamagedRecordError. */
export function readChunk(text: string, file: NamedFile): string {
  return parseStored(text, recordOf(file)) as string;
}

function recordOf({ storeId, fileId }: NamedFile): string {
  return `/v1/vector_stores/${storeId}/files/${fileId}`;
}

function toNames({ document, names }: DocumentRow): Omit<IndexedDocument, 'attributes'> {
  const [storeId, fileId] = parseStored(names, `the chunks of document ${document}`) as [string, string];
  return { document: Number(document), storeId, fileId };
}
