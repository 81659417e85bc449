import { Injectable } from '@nestjs/common';

import type { Caller, Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { FilesService } from '../index.js';
import { ApiError, IdGenerator } from '../../protocol/index.js';
import { ProviderRegistry, requireModel } from '../../providers/index.js';
import {
  type Attributes,
  isExpired,
  type Page,
  type PageRequest,
  Retention,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFilePage,
  type VectorStoreChange,
  type VectorStoreRecord,
} from '../../state/index.js';
import { Clock } from '../../time/index.js';
import type { Chunking } from './chunk-text.js';
import { Indexer } from './indexer.js';
import { VectorLibrary } from './vector-library.js';

/** What a client says of a new vector store. */
export type NewStore = Pick<VectorStoreRecord, 'name' | 'description' | 'metadata' | 'expiresAfterDays'>;

/** A file to add to a store. */
export interface FileToAdd {
  readonly fileId: string;
  readonly attributes: Attributes;
  readonly chunking: Chunking;
}

/** A store with how far its files are. */
export interface CountedStore {
  readonly store: VectorStoreRecord;
  readonly counts: StoreFileCounts;
}

/** A batch with how far its files are. */
export interface CountedBatch {
  readonly batch: StoreBatch;
  readonly counts: StoreFileCounts;
}

/**
 * Vector stores of tenants and the files in them. What another tenant has is not found: ApiError 404. All methods throw ApiError 400
 * `files_not_configured` where no database keeps them, and StoreUnavailableError.
 */
@Injectable()
export class VectorStoresService {
  constructor(
    private readonly library: VectorLibrary,
    private readonly indexer: Indexer,
    private readonly files: FilesService,
    private readonly providers: ProviderRegistry,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
    private readonly environment: Environment,
    retention: Retention,
  ) {
    if (!library.isAvailable) return;
    retention.add(() => this.library.records.purge());
    retention.add(() => this.library.index.purge());
    files.onDeleted((tenant, fileId) => this.forget(tenant, fileId));
  }

  /**
   * Creates a store with files. Throws ApiError 400 `vector_stores_not_configured` and `vector_store_quota_exceeded`, 403 for a caller who may
   * not use the embedding model, and 404 for a file that is not found.
   */
  async create(caller: Caller, given: NewStore, files: readonly FileToAdd[]): Promise<CountedStore> {
    const { tenant } = caller;
    const { EMBEDDING_MODEL, VECTOR_STORES_MAX_COUNT: most } = this.environment;
    this.requireEmbedder(EMBEDDING_MODEL);
    requireModel(caller, EMBEDDING_MODEL);
    await this.requireFiles(tenant, files);
    const now = this.clock.nowInSeconds();
    const store: VectorStoreRecord = {
      ...given,
      id: this.ids.next('vs'),
      createdAt: now,
      lastActiveAt: now,
      embeddingModel: EMBEDDING_MODEL,
    };
    if (!(await this.library.records.create(tenant, store, most))) {
      const message = `You have reached the limit of ${most} vector stores. Delete some, and retry your request.`;
      throw ApiError.of('vector_store_quota_exceeded', message);
    }
    if (files.length > 0) await this.put(caller, store, files, null);
    return this.counted(tenant, store);
  }

  /** Throws ApiError 404. */
  async get(tenant: Tenant, storeId: string): Promise<CountedStore> {
    return this.counted(tenant, await this.find(tenant, storeId));
  }

  /** Throws UnknownCursorError. */
  async list(tenant: Tenant, page: PageRequest): Promise<Page<CountedStore>> {
    const { data, hasMore } = await this.library.records.list(tenant, page);
    return { data: await Promise.all(data.map((store) => this.counted(tenant, store))), hasMore };
  }

  /** Changes what is given of a store; that is a use of it. Throws ApiError 404, and 400 `vector_store_expired`. */
  async update(tenant: Tenant, storeId: string, change: VectorStoreChange): Promise<CountedStore> {
    await this.findAlive(tenant, storeId);
    const used = { ...change, lastActiveAt: this.clock.nowInSeconds() };
    const store = await this.library.records.change(tenant, storeId, used);
    return this.counted(tenant, store ?? (await this.findAlive(tenant, storeId)));
  }

  /** Deletes a store; its files stay files. Throws ApiError 404, also the second time. */
  async delete(tenant: Tenant, storeId: string): Promise<void> {
    if (!(await this.library.records.delete(tenant, storeId))) throw missingStore(storeId);
  }

  /**
   * Adds a file, which is indexed in the background; one that is there already is indexed again. Throws ApiError 404, 400
   * `vector_store_expired`, and 403 for a caller who may not use the embedding model.
   */
  async add(caller: Caller, storeId: string, file: FileToAdd): Promise<StoreFile> {
    const { tenant } = caller;
    const store = await this.findAlive(tenant, storeId);
    await this.requireFiles(tenant, [file]);
    await this.put(caller, store, [file], null);
    return this.file(tenant, storeId, file.fileId);
  }

  /** Adds files together. Throws as `add` does; nothing is added then. */
  async addBatch(caller: Caller, storeId: string, files: readonly FileToAdd[]): Promise<CountedBatch> {
    const { tenant } = caller;
    const store = await this.findAlive(tenant, storeId);
    await this.requireFiles(tenant, files);
    const createdAt = this.clock.nowInSeconds();
    const batch = { id: this.ids.next('vsfb'), storeId, createdAt, isCancelled: false };
    await this.put(caller, store, files, batch);
    return this.batch(tenant, storeId, batch.id);
  }

  /** Throws ApiError 404. */
  async file(tenant: Tenant, storeId: string, fileId: string): Promise<StoreFile> {
    const file = await this.library.records.file(tenant, storeId, fileId);
    if (file === undefined) throw ApiError.notFound('File', fileId);
    return file;
  }

  /** Throws ApiError 404, and UnknownCursorError. */
  async listFiles(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoreFile>> {
    await this.find(tenant, storeId);
    return this.library.records.files(tenant, storeId, page);
  }

  /** Replaces the attributes of a file, for searches that begin from now on. Throws ApiError 404. */
  async describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes): Promise<StoreFile> {
    const { records, index } = this.library;
    const file = await records.describe(tenant, storeId, fileId, attributes);
    if (file === undefined) throw ApiError.notFound('File', fileId);
    await index.describe(tenant, storeId, fileId, attributes);
    return file;
  }

  /** The chunks of a file that is indexed, in order. Throws ApiError 404. */
  async texts(tenant: Tenant, storeId: string, fileId: string): Promise<readonly string[]> {
    await this.file(tenant, storeId, fileId);
    return this.library.index.texts(tenant, storeId, fileId);
  }

  /** Takes a file out of a store; it stays a file. Throws ApiError 404, also the second time. */
  async detach(tenant: Tenant, storeId: string, fileId: string): Promise<void> {
    if (!(await this.library.records.detach(tenant, storeId, fileId))) throw ApiError.notFound('File', fileId);
  }

  /** Throws ApiError 404. */
  async batch(tenant: Tenant, storeId: string, batchId: string): Promise<CountedBatch> {
    const { records } = this.library;
    const batch = await records.batch(tenant, storeId, batchId);
    if (batch === undefined) throw ApiError.notFound('File batch', batchId);
    return { batch, counts: await records.count(tenant, storeId, batchId) };
  }

  /** Cancels what is not indexed yet; nothing of it is found, nor what it was before. Throws ApiError 404. */
  async cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<CountedBatch> {
    await this.library.records.cancelBatch(tenant, storeId, batchId);
    return this.batch(tenant, storeId, batchId);
  }

  /** A store that can be used. Throws ApiError 404, and 400 `vector_store_expired`. */
  async findAlive(tenant: Tenant, storeId: string): Promise<VectorStoreRecord> {
    const store = await this.find(tenant, storeId);
    if (!isExpired(store, this.clock.now())) return store;
    throw ApiError.of('vector_store_expired', `The vector store '${storeId}' has expired.`);
  }

  private async find(tenant: Tenant, storeId: string): Promise<VectorStoreRecord> {
    const store = await this.library.records.get(tenant, storeId);
    if (store === undefined) throw missingStore(storeId);
    return store;
  }

  private async counted(tenant: Tenant, store: VectorStoreRecord): Promise<CountedStore> {
    return { store, counts: await this.library.records.count(tenant, store.id) };
  }

  private async put(
    caller: Caller,
    { id: storeId, embeddingModel }: VectorStoreRecord,
    files: readonly FileToAdd[],
    batch: StoreBatch | null,
  ): Promise<void> {
    const { tenant, keyId = null } = caller;
    requireModel(caller, embeddingModel);
    const { records } = this.library;
    const createdAt = this.clock.nowInSeconds();
    const added = files.map((file): StoreFile => ({
      ...file,
      ...{ storeId, createdAt, batchId: batch?.id ?? null, keyId },
      ...{ status: 'in_progress', error: null, bytes: 0 },
    }));
    if (!(await records.add(tenant, storeId, added, batch))) {
      await this.findAlive(tenant, storeId);
      throw missingStore(storeId);
    }
    await records.change(tenant, storeId, { lastActiveAt: createdAt });
    this.indexer.wake();
  }

  private requireEmbedder(model: string): void {
    try {
      if (this.providers.embedder(model).provider.embed !== undefined) return;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
    }
    const message = `No provider of this server makes vectors with '${model}'. Its operator can name a model with EMBEDDING_MODEL.`;
    throw ApiError.of('vector_stores_not_configured', message);
  }

  private async requireFiles(tenant: Tenant, files: readonly FileToAdd[]): Promise<void> {
    await Promise.all(files.map(({ fileId }) => this.files.get(tenant, fileId)));
  }

  /** Takes a file that was deleted out of all stores. */
  private async forget(tenant: Tenant, fileId: string): Promise<void> {
    const { records } = this.library;
    for (const storeId of await records.storesOf(tenant, fileId)) await records.detach(tenant, storeId, fileId);
  }
}

/** The 404 for a store. */
function missingStore(storeId: string): ApiError {
  return ApiError.notFound('Vector store', storeId);
}
