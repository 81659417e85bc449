import { type Tenant, tenantKey } from '../../access/index.js';
import { StoreUnavailableError } from '../errors.js';
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

/** Parameters of BM25: how soon more of the same word counts no more, and how much longer chunks count less. */
const SATURATION = 1.2;
const LENGTH_WEIGHT = 0.75;

interface Document {
  readonly document: number;
  readonly tenant: Tenant;
  readonly storeId: string;
  readonly fileId: string;
  readonly chunks: Map<number, VectorChunk>;
  /** Null until it is published. */
  attributes: Attributes | null;
}

interface Candidate {
  readonly of: Document;
  readonly chunk: VectorChunk;
}

/** Chunks in memory, all of which each search looks at. */
export class MemoryVectorIndex extends VectorIndex {
  /** By tenant and store, then by file. */
  private readonly stores = new Map<string, Map<string, Document>>();
  private last = 0;
  private bytes = 0;

  /** `capacity`: the most bytes of all chunks. Beyond it chunks are refused with StoreUnavailableError. */
  constructor(private readonly capacity: number) {
    super();
  }

  override async append(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    chunks: readonly VectorChunk[],
  ): Promise<void> {
    const added = chunks.reduce((sum, chunk) => sum + bytesOf(chunk), 0);
    if (this.bytes + added > this.capacity) throw new StoreUnavailableError('the memory has no room for the chunks');
    const document = this.findOrCreate(tenant, storeId, fileId);
    for (const chunk of chunks) {
      this.free(document, chunk.position);
      document.chunks.set(chunk.position, chunk);
    }
    this.bytes += added;
  }

  override async publish(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    { attributes, count }: { readonly attributes: Attributes; readonly count: number },
  ): Promise<void> {
    const document = this.findOrCreate(tenant, storeId, fileId);
    for (const position of document.chunks.keys()) if (position >= count) this.free(document, position);
    document.attributes = attributes;
  }

  override async describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes): Promise<boolean> {
    const document = this.find(tenant, storeId, fileId);
    if (document === undefined) return false;
    document.attributes = attributes;
    return true;
  }

  override async remove(tenant: Tenant, storeId: string, fileId: string): Promise<void> {
    const key = tenantKey(tenant, storeId);
    const files = this.stores.get(key);
    const document = files?.get(fileId);
    if (document !== undefined) this.freeAll(document);
    files?.delete(fileId);
    if (files?.size === 0) this.stores.delete(key);
  }

  override async drop(tenant: Tenant, storeId: string): Promise<void> {
    const key = tenantKey(tenant, storeId);
    for (const document of this.stores.get(key)?.values() ?? []) this.freeAll(document);
    this.stores.delete(key);
  }

  override async documents(tenant: Tenant, storeIds: readonly string[]): Promise<readonly IndexedDocument[]> {
    return this.published(tenant, { storeIds })
      .map(({ document, storeId, fileId, attributes }) => ({
        document,
        storeId,
        fileId,
        attributes: attributes ?? {},
      }))
      .sort((one, other) => one.document - other.document);
  }

  override async texts(tenant: Tenant, storeId: string, fileId: string): Promise<readonly string[]> {
    const document = this.find(tenant, storeId, fileId);
    if (document === undefined) return [];
    return [...document.chunks.values()].sort(byPosition).map(({ text }) => text);
  }

  override async nearest(tenant: Tenant, vector: Float32Array, query: ChunkQuery): Promise<readonly ChunkHit[]> {
    return best(this.candidates(tenant, query), ({ chunk }) => productOf(vector, chunk.vector), query);
  }

  override async matching(tenant: Tenant, text: string, query: ChunkQuery): Promise<readonly ChunkHit[]> {
    const candidates = this.candidates(tenant, query);
    const counted = new Map(candidates.map(({ chunk }) => [chunk, countWords(chunk.text)]));
    const lengths = [...counted.values()].map(({ length }) => length);
    const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length);
    const rarities = wordsOf(text).map((word) => {
      const having = [...counted.values()].filter(({ counts }) => counts.has(word)).length;
      return [word, Math.log(1 + (counted.size - having + 0.5) / (having + 0.5))] as const;
    });
    const rank = ({ chunk }: Candidate): number | null => {
      const { counts, length } = counted.get(chunk) ?? countWords(chunk.text);
      let sum = 0;
      for (const [word, rarity] of rarities) {
        const count = counts.get(word) ?? 0;
        const relative = 1 - LENGTH_WEIGHT + LENGTH_WEIGHT * (length / average);
        sum += (rarity * count * (SATURATION + 1)) / (count + SATURATION * relative);
      }
      return sum > 0 ? sum : null;
    };
    return best(candidates, rank, query);
  }

  /** Forgets the documents that do not pass. */
  keep(passes: (tenant: Tenant, storeId: string, fileId: string) => boolean): void {
    for (const files of this.stores.values()) {
      for (const { tenant, storeId, fileId } of files.values()) {
        if (!passes(tenant, storeId, fileId)) void this.remove(tenant, storeId, fileId);
      }
    }
  }

  private free(document: Document, position: number): void {
    const chunk = document.chunks.get(position);
    if (chunk === undefined) return;
    this.bytes -= bytesOf(chunk);
    document.chunks.delete(position);
  }

  private freeAll(document: Document): void {
    for (const position of document.chunks.keys()) this.free(document, position);
  }

  private findOrCreate(tenant: Tenant, storeId: string, fileId: string): Document {
    const key = tenantKey(tenant, storeId);
    const files = this.stores.get(key) ?? new Map<string, Document>();
    this.stores.set(key, files);
    const known = files.get(fileId);
    if (known !== undefined) return known;
    this.last += 1;
    const document = { document: this.last, tenant, storeId, fileId, chunks: new Map(), attributes: null };
    files.set(fileId, document);
    return document;
  }

  /** A published document. */
  private find(tenant: Tenant, storeId: string, fileId: string): Document | undefined {
    const document = this.stores.get(tenantKey(tenant, storeId))?.get(fileId);
    return document === undefined || document.attributes === null ? undefined : document;
  }

  private published(tenant: Tenant, { storeIds, documents }: Omit<ChunkQuery, 'limit'>): readonly Document[] {
    const wanted = documents && new Set(documents);
    return [...new Set(storeIds)]
      .flatMap((storeId) => [...(this.stores.get(tenantKey(tenant, storeId))?.values() ?? [])])
      .filter(({ attributes, document }) => attributes !== null && wanted?.has(document) !== false);
  }

  private candidates(tenant: Tenant, query: ChunkQuery): readonly Candidate[] {
    return this.published(tenant, query).flatMap((of) => [...of.chunks.values()].map((chunk) => ({ of, chunk })));
  }
}

/** The candidates with the highest scores, without those that have none. */
function best(
  candidates: readonly Candidate[],
  scoreOf: (candidate: Candidate) => number | null,
  { limit }: ChunkQuery,
): readonly ChunkHit[] {
  return candidates
    .flatMap((candidate) => {
      const score = scoreOf(candidate);
      if (score === null) return [];
      const { document, storeId, fileId } = candidate.of;
      const { position, text } = candidate.chunk;
      return [{ document, storeId, fileId, position, text, score }];
    })
    .sort((one, other) => other.score - one.score || one.document - other.document || byPosition(one, other))
    .slice(0, limit);
}

function byPosition(one: { readonly position: number }, other: { readonly position: number }): number {
  return one.position - other.position;
}

function bytesOf({ text, vector }: VectorChunk): number {
  return text.length * 2 + vector.byteLength;
}

function countWords(text: string): { readonly counts: ReadonlyMap<string, number>; readonly length: number } {
  const counts = new Map<string, number>();
  const words =
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return { counts, length: words.length };
}
