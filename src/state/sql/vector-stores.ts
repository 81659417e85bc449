import type { Tenant } from '../../access/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { toKey } from '../keys.js';
import type { Page, PageRequest } from '../page.js';
import { readRecord, readTenant } from '../read-record.js';
import type { Attributes } from '../vector-index.js';
import {
  type ClaimedFile,
  expiryOf,
  type HeldStore,
  isExpired,
  isUnfound,
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFileOutcome,
  type StoreFilePage,
  type VectorStoreChange,
  type VectorStoreRecord,
  type VectorStoreUsage,
} from '../vector-stores.js';
import type { Owner, Owners, SqlDialect } from './dialect.js';
import { readPage, type StoredRecord } from './pages.js';
import type { Statement } from './statement.js';
import { readFile, readStore, readWaiting, type VectorStoreMethods } from './stored-vector-stores.js';
import { type InSteps, type Modes, rowOf, rowsOf, type Steps } from './steps.js';
import {
  type ByClaim,
  type ById,
  type ByFile,
  STORE_BATCH,
  type VectorStoreStatements,
} from './statements/vector-stores.js';

/** How the methods of vector stores are run. */
export const VECTOR_STORE_MODES: Modes<keyof VectorStoreMethods> = {
  create: 'transaction',
  get: 'statements',
  list: 'statements',
  change: 'transaction',
  delete: 'transaction',
  add: 'transaction',
  file: 'statements',
  files: 'statements',
  count: 'statements',
  describe: 'transaction',
  detach: 'transaction',
  storesOf: 'statements',
  batch: 'statements',
  cancelBatch: 'transaction',
  claim: 'statements',
  reserve: 'transaction',
  renew: 'statements',
  giveBack: 'statements',
  settle: 'transaction',
  used: 'statements',
  tenants: 'statements',
  purge: 'statements',
};

/** A new vector store. */
export type StoreColumns = readonly [createdAt: number, expiresAt: number | null, about: string];

/** A new file in one. */
export type FileColumns = readonly [
  createdAt: number,
  batchId: string | null,
  status: string,
  bytes: number,
  about: string,
  unfoundAt: number | null,
];

/** Vector stores in a database with SQL. */
export abstract class SqlVectorStores implements InSteps<VectorStoreMethods> {
  constructor(
    private readonly dialect: SqlDialect,
    private readonly statements: VectorStoreStatements,
    protected readonly owners: Owners,
    protected readonly now: () => number,
  ) {}

  *create(tenant: Tenant, store: VectorStoreRecord, most: number): Steps<boolean> {
    const key: ById = [this.owners.findOrCreate(tenant), toKey(store.id)];
    yield* this.hold(key[0]);
    if ((yield* this.used(tenant)).stores >= most) return false;
    if (yield* this.isAny(this.statements.forget, key)) yield* this.discardStore(key);
    yield* this.insert(key, tenant, [store.createdAt, expiryOf(store), JSON.stringify(store)]);
    return true;
  }

  *get(tenant: Tenant, storeId: string): Steps<VectorStoreRecord | undefined> {
    const row = yield* rowOf(this.statements.find, this.keyOf(tenant, storeId));
    return row && readStore(row.about, storeId);
  }

  *list(tenant: Tenant, page: PageRequest): Steps<Page<StoredRecord>> {
    return yield* readPage(
      this.dialect,
      { name: 'vector_stores', within: { owner: this.owners.find(tenant) }, filter: {} },
      page,
    );
  }

  *change(tenant: Tenant, storeId: string, change: VectorStoreChange): Steps<VectorStoreRecord | undefined> {
    const key = this.keyOf(tenant, storeId);
    const store = yield* this.holdAlive(key, storeId);
    if (store === undefined) return undefined;
    const changed = { ...store, ...change };
    yield* rowsOf(this.statements.write, [...key, expiryOf(changed), JSON.stringify(changed)]);
    return changed;
  }

  *delete(tenant: Tenant, storeId: string): Steps<boolean> {
    const key = this.keyOf(tenant, storeId);
    if (!(yield* this.isAny(this.statements.leave, [...key, this.now()]))) return false;
    yield* rowsOf(this.statements.dropFiles, key);
    yield* rowsOf(this.statements.dropBatches, key);
    yield* this.discardStore(key);
    return true;
  }

  *add(tenant: Tenant, storeId: string, files: readonly StoreFile[], batch: StoreBatch | null): Steps<boolean> {
    const key = this.keyOf(tenant, storeId);
    if ((yield* this.holdAlive(key, storeId)) === undefined) return false;
    const known = yield* rowsOf(this.statements.holdKnown, [...key, files.map(({ fileId }) => toKey(fileId))]);
    // What the store has of a file already is found, and counts, until the file is settled again.
    const bytesOf = new Map(known.map(({ id, bytes }) => [id, bytes]));
    for (const file of files) {
      const { fileId, createdAt, batchId, status } = file;
      const bytes = bytesOf.get(toKey(fileId)) ?? file.bytes;
      const values = [createdAt, batchId === null ? null : toKey(batchId), status, bytes] as const;
      const about = JSON.stringify({ ...file, bytes });
      yield* this.insertFile([...key, toKey(fileId)], tenant, [...values, about, this.unfoundAt(file)]);
    }
    if (batch !== null) {
      yield* rowsOf(this.statements.addBatch, [...key, toKey(batch.id), batch.createdAt, JSON.stringify(batch)]);
    }
    return true;
  }

  *file(tenant: Tenant, storeId: string, fileId: string): Steps<StoreFile | undefined> {
    const row = yield* rowOf(this.statements.findFile, [...this.keyOf(tenant, storeId), toKey(fileId)]);
    return row && readFile(row.about, storeId, fileId);
  }

  *files(tenant: Tenant, storeId: string, page: StoreFilePage): Steps<Page<StoredRecord>> {
    const [owner, store] = this.keyOf(tenant, storeId);
    const { status, batchId } = page;
    const filter = { status, batch_id: batchId && toKey(batchId) };
    const table = { name: 'vector_store_files', within: { owner, store_id: store }, filter };
    return yield* readPage(this.dialect, table, page);
  }

  *count(tenant: Tenant, storeId: string, batchId?: string): Steps<StoreFileCounts> {
    const batch = batchId === undefined ? null : toKey(batchId);
    const counts = { ...NO_STORE_FILES };
    for (const { status, files, bytes } of yield* rowsOf(this.statements.count, [
      ...this.keyOf(tenant, storeId),
      batch,
    ])) {
      counts[status] = files;
      counts.bytes += bytes;
    }
    return counts;
  }

  *describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes): Steps<StoreFile | undefined> {
    const key: ByFile = [...this.keyOf(tenant, storeId), toKey(fileId)];
    const row = yield* rowOf(this.statements.holdFile, key);
    return row && (yield* this.write(key, { ...readFile(row.about, storeId, fileId), attributes }));
  }

  *detach(tenant: Tenant, storeId: string, fileId: string): Steps<boolean> {
    const key = this.keyOf(tenant, storeId);
    if (!(yield* this.isAny(this.statements.detach, [...key, toKey(fileId), this.now()]))) return false;
    yield* this.discardFiles(key, [toKey(fileId)]);
    return true;
  }

  *storesOf(tenant: Tenant, fileId: string): Steps<readonly string[]> {
    const rows = yield* rowsOf(this.statements.storesOf, this.keyOf(tenant, fileId));
    return rows.map(({ store_id: storeId }) => storeId);
  }

  *batch(tenant: Tenant, storeId: string, batchId: string): Steps<StoreBatch | undefined> {
    return yield* this.findBatch([...this.keyOf(tenant, storeId), toKey(batchId)], batchId);
  }

  *cancelBatch(tenant: Tenant, storeId: string, batchId: string): Steps<readonly string[] | undefined> {
    const store = this.keyOf(tenant, storeId);
    const key: ByFile = [...store, toKey(batchId)];
    const batch = yield* this.findBatch(key, batchId);
    if (batch === undefined) return undefined;
    yield* rowsOf(this.statements.writeBatch, [...key, JSON.stringify({ ...batch, isCancelled: true })]);
    const rows = yield* rowsOf(this.statements.holdBatchFiles, key);
    const files = rows.map(readWaiting);
    const ids = files.map(({ fileId }) => toKey(fileId));
    for (const [index, file] of files.entries()) {
      const { isDamaged: _, ...whole } = file;
      yield* this.write([...store, ids[index] ?? ''], { ...whole, status: 'cancelled', bytes: 0 });
    }
    yield* this.discardFiles(store, ids);
    return files.map(({ fileId }) => fileId);
  }

  /** Claims are each engine's own: replicas make theirs side by side. */
  abstract claim(
    most: number,
    now: number,
    until: number,
    heldBack?: readonly HeldStore[],
  ): Steps<readonly ClaimedFile[]>;

  *reserve(claimed: ClaimedFile, bytes: number, most: number): Steps<'reserved' | 'full' | 'lost'> {
    const key = this.claimOf(claimed);
    const [owner, storeId, fileId] = key;
    yield* this.hold(owner);
    const file = yield* rowOf(this.statements.holdRoom, key);
    if (file === undefined) return 'lost';
    const others = (yield* this.used(claimed.tenant)).bytes - Math.max(file.bytes, file.reserved);
    if (others + Math.max(file.bytes, bytes) > most) return 'full';
    yield* rowsOf(this.statements.reserve, [owner, storeId, fileId, bytes]);
    return 'reserved';
  }

  *renew(claimed: ClaimedFile, until: number): Steps<boolean> {
    return yield* this.isAny(this.statements.renew, [...this.claimOf(claimed), until]);
  }

  *giveBack(claimed: ClaimedFile, notBefore: number): Steps<boolean> {
    return yield* this.isAny(this.statements.giveBack, [...this.claimOf(claimed), notBefore]);
  }

  *settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Steps<boolean> {
    const key = this.claimOf(claimed);
    const [owner, storeId, fileId] = key;
    const row = yield* rowOf(this.statements.holdClaimed, key);
    if (row === undefined) return false;
    const { isDamaged: _, ...file } = readWaiting(row);
    yield* this.write([owner, storeId, fileId], { ...file, ...outcome });
    if (isUnfound(outcome)) yield* this.discardFiles([owner, storeId], [fileId]);
    return true;
  }

  *used(tenant: Tenant): Steps<VectorStoreUsage> {
    const row = yield* rowOf(this.statements.used, [this.owners.find(tenant)]);
    return row ?? { stores: 0, bytes: 0 };
  }

  *tenants(): Steps<readonly Tenant[]> {
    const rows = yield* rowsOf(this.statements.tenants, []);
    return rows.map(({ tenant }) => readTenant(tenant, 'the tenant of a vector store'));
  }

  *purge(): Steps<boolean> {
    const now = this.now();
    const before = now - BOOKMARK_MS;
    // First: orphans are found by the rows of their files and stores, which the statements below delete.
    if (yield* this.dropOrphans(now)) return true;
    if ((yield* rowsOf(this.statements.dropExpired, [now])).length === STORE_BATCH) return true;
    const { forgetStores, forgetFiles, leaveUnfound, leaveExpired, dropBatchesWithoutFiles } = this.statements;
    for (const forget of [forgetStores, forgetFiles, leaveUnfound, leaveExpired]) yield* rowsOf(forget, [before]);
    const batches = yield* rowsOf(dropBatchesWithoutFiles, [Math.floor(before / 1000)]);
    return batches.length === STORE_BATCH;
  }

  /** Stores a vector store. */
  protected abstract insert(key: ById, tenant: Tenant, columns: StoreColumns): Steps<unknown>;

  /** Stores a file behind all others, in place of one that is there. */
  protected abstract insertFile(key: ByFile, tenant: Tenant, columns: FileColumns): Steps<unknown>;

  /** Forgets the documents of a store: nothing finds them any more, and the purge of the index frees their chunks. */
  protected abstract discardStore(key: ById): Steps<unknown>;

  /** Forgets the documents of files in a store. */
  protected abstract discardFiles(key: ById, fileIds: readonly string[]): Steps<unknown>;

  /**
   * Forgets what was written of stores and files after their documents were forgotten, and the documents of stores that have expired; whether
   * there may be more. Those that ended more than BOOKMARK_MS ago are looked at no more.
   */
  protected abstract dropOrphans(now: number): Steps<boolean>;

  private *hold(owner: Owner): Steps<void> {
    if (this.statements.lock !== null) yield* rowsOf(this.statements.lock, [owner]);
  }

  private keyOf(tenant: Tenant, id: string): ById {
    return [this.owners.find(tenant), toKey(id)];
  }

  private claimOf({ tenant, storeId, fileId, attempt }: ClaimedFile): ByClaim {
    return [...this.keyOf(tenant, storeId), toKey(fileId), attempt];
  }

  private *findBatch(key: ByFile, batchId: string): Steps<StoreBatch | undefined> {
    const row = yield* rowOf(this.statements.findBatch, key);
    return row && readRecord<StoreBatch>(row.about, `the file batch ${batchId}`, 'id');
  }

  private *isAny<Values extends readonly unknown[]>(
    statement: Statement<Values, unknown>,
    values: Values,
  ): Steps<boolean> {
    return (yield* rowsOf(statement, values)).length > 0;
  }

  private unfoundAt(file: StoreFile): number | null {
    return isUnfound(file) ? this.now() : null;
  }

  private *write(key: ByFile, file: StoreFile): Steps<StoreFile> {
    const { status, bytes } = file;
    yield* rowsOf(this.statements.writeFile, [...key, status, bytes, JSON.stringify(file), this.unfoundAt(file)]);
    return file;
  }

  private *holdAlive(key: ById, storeId: string): Steps<VectorStoreRecord | undefined> {
    const row = yield* rowOf(this.statements.hold, key);
    const store = row && readStore(row.about, storeId);
    return store === undefined || isExpired(store, this.now()) ? undefined : store;
  }
}
