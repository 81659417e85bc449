import type { Tenant } from '../access/index.js';

/** What a client says of a file in a vector store; filters of a search go by it. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A piece of a document, with its vector. */
export interface VectorChunk {
  /** The place of the chunk in the document, from 0. */
  readonly position: number;
  readonly text: string;
  /** Of length 1, so that the product of two is their cosine. Those of a store have the same number of dimensions. */
  readonly vector: Float32Array;
}

/** A document that searches find. */
export interface IndexedDocument {
  /** The number by which `ChunkQuery` names it; not given to another one later. */
  readonly document: number;
  readonly storeId: string;
  readonly fileId: string;
  readonly attributes: Attributes;
}

/** Where to search. */
export interface ChunkQuery {
  readonly storeIds: readonly string[];
  /** Documents of these stores; absent: all of them. */
  readonly documents?: readonly number[];
  /** Most hits. */
  readonly limit: number;
}

/** A chunk that a search has found. */
export interface ChunkHit {
  readonly document: number;
  readonly storeId: string;
  readonly fileId: string;
  readonly position: number;
  readonly text: string;
  /** Higher is better: a cosine, or a rank of words that compares only with others of the same search. */
  readonly score: number;
}

/** Most words of a text that a search looks for. */
const MOST_WORDS = 64;

/**
 * Chunks of documents, found by their vectors and by their words. A document is written chunk by chunk, under its store and its file, and
 * found once it is published; until then searches find what was published before. It is forgotten together with its file or store, by
 * `VectorStoreRecords`. All methods throw StoreUnavailableError.
 */
export abstract class VectorIndex {
  /**
   * Stores chunks of a document that is not published yet, in place of those with the same positions. With the one at position 0 it begins
   * anew. Throws IndexFullError.
   */
  abstract append(tenant: Tenant, storeId: string, fileId: string, chunks: readonly VectorChunk[]): Promise<void>;

  /**
   * Lets searches find a document, in place of the one before. Unless it has `count` chunks, it is false, and forgets what was written: the one
   * before stays.
   */
  abstract publish(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    about: { readonly attributes: Attributes; readonly count: number },
  ): Promise<boolean>;

  /** Replaces the attributes of a published document; false if there is none. */
  abstract describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes): Promise<boolean>;

  /** The published documents of stores, in the order in which they were begun. */
  abstract documents(tenant: Tenant, storeIds: readonly string[]): Promise<readonly IndexedDocument[]>;

  /** The texts of a published document, in order; empty if there is none. */
  abstract texts(tenant: Tenant, storeId: string, fileId: string): Promise<readonly string[]>;

  /** The chunks that are nearest to a vector of length 1, best first. Chunks with another number of dimensions are not found. */
  abstract nearest(tenant: Tenant, vector: Float32Array, query: ChunkQuery): Promise<readonly ChunkHit[]>;

  /** The chunks with the most words of a text, best first; rare words may count more. */
  abstract matching(tenant: Tenant, text: string, query: ChunkQuery): Promise<readonly ChunkHit[]>;

  /** Frees a batch of chunks of documents that were forgotten or replaced. Whether there may be more. */
  abstract purge(): Promise<boolean>;
}

/** The words of a text, in lower case. */
export function wordsIn(text: string): readonly string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  );
}

/** The different words of a text; at most as many as a search looks for. */
export function wordsOf(text: string, most = MOST_WORDS): readonly string[] {
  return [...new Set(wordsIn(text))].slice(0, most);
}

/** The product of two vectors; null for different numbers of dimensions. */
export function productOf(one: Float32Array, other: Float32Array): number | null {
  const { length } = one;
  if (length !== other.length) return null;
  let sum = 0;
  for (let index = 0; index < length; index++) sum += (one[index] as number) * (other[index] as number);
  return sum;
}
