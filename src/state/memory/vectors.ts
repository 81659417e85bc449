import { type Tenant, tenantKey } from '../../access/index.js';
import { IndexFullError } from '../errors.js';
import {
  type Attributes,
  type ChunkHit,
  type ChunkQuery,
  type IndexedDocument,
  productOf,
  type VectorChunk,
  VectorIndex,
} from '../vector-index.js';
import { type CountedWords, NumberedWords } from './words.js';

/** Chunks that one purge frees at most. */
const BATCH = 256;

interface Chunk extends VectorChunk {
  readonly words: CountedWords;
}

interface Document {
  readonly document: number;
  readonly tenant: Tenant;
  readonly storeId: string;
  readonly fileId: string;
  readonly chunks: Map<number, Chunk>;
  /** Null until it is published. */
  attributes: Attributes | null;
}

/** What is known of a file. */
interface Versions {
  published?: Document;
  /** The document that is to replace `published`. */
  draft?: Document;
}

interface Candidate {
  readonly of: Document;
  readonly chunk: Chunk;
}

/** Chunks in memory, all of which each search looks at. */
export class MemoryVectorIndex extends VectorIndex {
  /** By tenant and store, then by file. */
  private readonly stores = new Map<string, Map<string, Versions>>();
  private readonly vocabulary = new NumberedWords();
  private readonly forgotten: Document[] = [];
  private last = 0;
  private bytes = 0;

  /** `capacity`: the most bytes of all chunks. Beyond it chunks are refused with IndexFullError. */
  constructor(private readonly capacity: number) {
    super();
  }

  override async append(tenant: Tenant, storeId: string, fileId: string, chunks: readonly VectorChunk[]) {
    const versions = this.findOrCreate(tenant, storeId, fileId);
    if (chunks.some(({ position }) => position === 0)) {
      this.forget(versions.draft);
      delete versions.draft;
    }
    const draft = (versions.draft ??= this.begin(tenant, storeId, fileId));
    for (const chunk of chunks) {
      this.free(draft, chunk.position);
      const counted = { ...chunk, words: this.vocabulary.add(chunk.text) };
      draft.chunks.set(chunk.position, counted);
      this.bytes += bytesOf(counted);
    }
    while (this.size > this.capacity && this.freeBatch());
    if (this.size <= this.capacity) return;
    for (const { position } of chunks) this.free(draft, position);
    throw new IndexFullError('the memory has no room for the chunks');
  }

  override async publish(...[tenant, storeId, fileId, { attributes, count }]: Parameters<VectorIndex['publish']>) {
    const known = this.stores.get(tenantKey(tenant, storeId))?.get(fileId);
    const draft = known?.draft ?? this.begin(tenant, storeId, fileId);
    delete known?.draft;
    if (draft.chunks.size !== count) {
      this.forget(draft);
      if (known?.published === undefined) this.remove(tenant, storeId, fileId);
      return false;
    }
    const versions = this.findOrCreate(tenant, storeId, fileId);
    this.forget(versions.published);
    versions.published = draft;
    draft.attributes = attributes;
    return true;
  }

  override async describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes): Promise<boolean> {
    const document = this.find(tenant, storeId, fileId);
    if (document === undefined) return false;
    document.attributes = attributes;
    return true;
  }

  /** Forgets a document, published or not; one that is not there is none. */
  remove(tenant: Tenant, storeId: string, fileId: string): void {
    const key = tenantKey(tenant, storeId);
    const files = this.stores.get(key);
    this.forgetBoth(files?.get(fileId));
    files?.delete(fileId);
    if (files?.size === 0) this.stores.delete(key);
  }

  /** Forgets all documents of a store. */
  drop(tenant: Tenant, storeId: string): void {
    const key = tenantKey(tenant, storeId);
    for (const versions of this.stores.get(key)?.values() ?? []) this.forgetBoth(versions);
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
    const ranks = this.vocabulary.rank(
      text,
      candidates.map(({ chunk }) => chunk.words),
    );
    return best(candidates, (_, index) => ranks[index] ?? null, query);
  }

  /** What chunks and the words that they have take, estimated. */
  private get size(): number {
    return this.bytes + this.vocabulary.bytes;
  }

  override async purge(): Promise<boolean> {
    return this.freeBatch();
  }

  /** Frees chunks of documents that were forgotten; whether there may be more. */
  private freeBatch(): boolean {
    let left = BATCH;
    for (let document = this.forgotten.at(-1); document !== undefined; document = this.forgotten.at(-1)) {
      for (const position of document.chunks.keys()) {
        if (left === 0) return true;
        left -= 1;
        this.free(document, position);
      }
      this.forgotten.pop();
    }
    return false;
  }

  /** Forgets the documents that do not pass. */
  keep(passes: (tenant: Tenant, storeId: string, fileId: string) => boolean): void {
    for (const files of this.stores.values()) {
      for (const { published, draft } of files.values()) {
        const document = published ?? draft;
        if (document === undefined || passes(document.tenant, document.storeId, document.fileId)) continue;
        this.remove(document.tenant, document.storeId, document.fileId);
      }
    }
  }

  private free(document: Document, position: number): void {
    const chunk = document.chunks.get(position);
    if (chunk === undefined) return;
    this.bytes -= bytesOf(chunk);
    this.vocabulary.remove(chunk.words);
    document.chunks.delete(position);
  }

  private forget(document: Document | undefined): void {
    if (document !== undefined) this.forgotten.push(document);
  }

  private forgetBoth(versions: Versions | undefined): void {
    this.forget(versions?.published);
    this.forget(versions?.draft);
  }

  private findOrCreate(tenant: Tenant, storeId: string, fileId: string): Versions {
    const key = tenantKey(tenant, storeId);
    const files = this.stores.get(key) ?? new Map<string, Versions>();
    this.stores.set(key, files);
    const versions = files.get(fileId) ?? {};
    files.set(fileId, versions);
    return versions;
  }

  private begin(tenant: Tenant, storeId: string, fileId: string): Document {
    this.last += 1;
    return { document: this.last, tenant, storeId, fileId, chunks: new Map(), attributes: null };
  }

  /** A published document. */
  private find(tenant: Tenant, storeId: string, fileId: string): Document | undefined {
    return this.stores.get(tenantKey(tenant, storeId))?.get(fileId)?.published;
  }

  private published(tenant: Tenant, { storeIds, documents }: Omit<ChunkQuery, 'limit'>): readonly Document[] {
    const wanted = documents && new Set(documents);
    return [...new Set(storeIds)]
      .flatMap((storeId) => [...(this.stores.get(tenantKey(tenant, storeId))?.values() ?? [])])
      .flatMap(({ published }) => published ?? [])
      .filter(({ document }) => wanted?.has(document) !== false);
  }

  private candidates(tenant: Tenant, query: ChunkQuery): readonly Candidate[] {
    return this.published(tenant, query).flatMap((of) => [...of.chunks.values()].map((chunk) => ({ of, chunk })));
  }
}

/** The candidates with the highest scores, without those that have none. */
function best(
  candidates: readonly Candidate[],
  scoreOf: (candidate: Candidate, index: number) => number | null,
  { limit }: ChunkQuery,
): readonly ChunkHit[] {
  return candidates
    .flatMap((candidate, index) => {
      const score = scoreOf(candidate, index);
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

function bytesOf({ text, vector, words }: Chunk): number {
  return text.length * 2 + vector.byteLength + words.words.byteLength + words.counts.byteLength;
}
