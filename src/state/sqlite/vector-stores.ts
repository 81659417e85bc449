import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { UnknownCursorError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import type { Attributes } from '../vector-index.js';
import {
  type ClaimedFile,
  type HeldStore,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFileOutcome,
  type StoreFilePage,
  type VectorStoreChange,
  type VectorStoreRecord,
  VectorStoreRecords,
  type VectorStoreUsage,
} from '../vector-stores.js';
import type { DatabaseThread } from './database-thread.js';

/** Vector stores in SQLite. */
export class SqliteVectorStores extends VectorStoreRecords {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly clock: Clock,
  ) {
    super();
  }

  /** Ends the claims of the process before: no other one can have the file of the database. Throws StoreUnavailableError. */
  start(): Promise<void> {
    return this.thread.call('releaseStoreFiles');
  }

  override create(tenant: Tenant, store: VectorStoreRecord, most: number): Promise<boolean> {
    return this.thread.call('createVectorStore', tenant, store, most);
  }

  override get(tenant: Tenant, storeId: string): Promise<VectorStoreRecord | undefined> {
    return this.thread.call('getVectorStore', tenant, storeId);
  }

  override async list(tenant: Tenant, page: PageRequest): Promise<Page<VectorStoreRecord>> {
    return known(await this.thread.call('listVectorStores', tenant, page), page);
  }

  override change(tenant: Tenant, storeId: string, change: VectorStoreChange): Promise<VectorStoreRecord | undefined> {
    return this.thread.call('changeVectorStore', tenant, storeId, change, this.clock.now());
  }

  override delete(tenant: Tenant, storeId: string): Promise<boolean> {
    return this.thread.call('deleteVectorStore', tenant, storeId, this.clock.now());
  }

  override add(
    tenant: Tenant,
    storeId: string,
    files: readonly StoreFile[],
    batch: StoreBatch | null,
  ): Promise<boolean> {
    return this.thread.call('addStoreFiles', tenant, storeId, files, batch, this.clock.now());
  }

  override file(tenant: Tenant, storeId: string, fileId: string): Promise<StoreFile | undefined> {
    return this.thread.call('getStoreFile', tenant, storeId, fileId);
  }

  override async files(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoreFile>> {
    return known(await this.thread.call('listStoreFiles', tenant, storeId, page), page);
  }

  override count(tenant: Tenant, storeId: string, batchId?: string): Promise<StoreFileCounts> {
    return this.thread.call('countStoreFiles', tenant, storeId, batchId);
  }

  override describe(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    attributes: Attributes,
  ): Promise<StoreFile | undefined> {
    return this.thread.call('describeStoreFile', tenant, storeId, fileId, attributes, this.clock.now());
  }

  override detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean> {
    return this.thread.call('detachStoreFile', tenant, storeId, fileId, this.clock.now());
  }

  override storesOf(tenant: Tenant, fileId: string): Promise<readonly string[]> {
    return this.thread.call('storesOfFile', tenant, fileId);
  }

  override batch(tenant: Tenant, storeId: string, batchId: string): Promise<StoreBatch | undefined> {
    return this.thread.call('getStoreBatch', tenant, storeId, batchId);
  }

  override cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<readonly string[] | undefined> {
    return this.thread.call('cancelStoreBatch', tenant, storeId, batchId, this.clock.now());
  }

  override claim(
    most: number,
    now: number,
    until: number,
    heldBack: readonly HeldStore[] = [],
  ): Promise<readonly ClaimedFile[]> {
    return this.thread.call('claimStoreFiles', most, now, until, heldBack);
  }

  override reserve(claimed: ClaimedFile, bytes: number, most: number): Promise<'reserved' | 'full' | 'lost'> {
    return this.thread.call('reserveStoreFile', claimed, bytes, most);
  }

  override renew(claimed: ClaimedFile, until: number): Promise<boolean> {
    return this.thread.call('renewStoreFile', claimed, until);
  }

  override giveBack(claimed: ClaimedFile, notBefore: number): Promise<boolean> {
    return this.thread.call('giveBackStoreFile', claimed, notBefore);
  }

  override settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Promise<boolean> {
    return this.thread.call('settleStoreFile', claimed, outcome, this.clock.now());
  }

  override used(tenant: Tenant): Promise<VectorStoreUsage> {
    return this.thread.call('vectorStoresUsed', tenant);
  }

  override tenants(): Promise<readonly Tenant[]> {
    return this.thread.call('tenantsWithStores');
  }

  override async purge(): Promise<boolean> {
    const now = this.clock.now();
    // Their files are found by what is left of them.
    return (await this.thread.call('dropOrphans', now)) || (await this.thread.call('purgeVectorStores', now));
  }
}

function known<T>(page: Page<T> | 'unknown cursor', asked: PageRequest): Page<T> {
  if (page === 'unknown cursor') throw new UnknownCursorError(asked);
  return page;
}
