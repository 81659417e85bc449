import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { toKey } from '../keys.js';
import type { Page, PageRequest } from '../page.js';
import type { Attributes } from '../vector-index.js';
import {
  type ClaimedFile,
  expiryOf,
  type HeldStore,
  inTurn,
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
  VectorStoreRecords,
  type VectorStoreUsage,
} from '../vector-stores.js';
import type { Database, RunStatement } from './database.js';
import {
  ADD,
  ADD_BATCH,
  BATCH,
  CLAIM,
  COUNT,
  CREATE,
  DETACH,
  DISCARD_FILES,
  DISCARD_STORE,
  DROP_BATCHES,
  DROP_BATCHES_WITHOUT_FILES,
  DROP_EXPIRED,
  DROP_FILES,
  DROP_ORPHANS,
  FIND,
  FIND_BATCH,
  FIND_FILE,
  FORGET_FILES,
  FORGET_STORE,
  FORGET_STORES,
  GIVE_BACK,
  HOLD,
  HOLD_BATCH_FILES,
  HOLD_CLAIMED,
  HOLD_FILE,
  HOLD_KNOWN,
  HOLD_ROOM,
  HOLD_STORES,
  LEAVE,
  LEAVE_EXPIRED,
  LEAVE_UNFOUND,
  RENEW,
  RESERVE,
  STORES_OF,
  TENANTS,
  USED,
  WRITE,
  WRITE_BATCH,
  WRITE_FILE,
  type ByClaim,
  type ByFile,
  type ById,
  type Row,
} from './statements/vector-stores.js';
import { readPage } from './vector-store-pages.js';

/** Vector stores in PostgreSQL. */
export class PostgresVectorStores extends VectorStoreRecords {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override create(tenant: Tenant, store: VectorStoreRecord, most: number): Promise<boolean> {
    const key: ById = [toKey(tenant), toKey(store.id)];
    const values = [JSON.stringify(tenant), store.createdAt, expiryOf(store), JSON.stringify(store)] as const;
    return this.database.transaction(async (run) => {
      await run(HOLD_STORES, [toKey(tenant)]);
      const [used] = await run(USED, [toKey(tenant)]);
      if ((used?.stores ?? 0) >= most) return false;
      if ((await run(FORGET_STORE, key)).length > 0) await run(DISCARD_STORE, key);
      await run(CREATE, [...key, ...values]);
      return true;
    });
  }

  override async get(tenant: Tenant, storeId: string): Promise<VectorStoreRecord | undefined> {
    return one(await this.database.repeatable(FIND, [toKey(tenant), toKey(storeId)]), toStore);
  }

  override list(tenant: Tenant, page: PageRequest): Promise<Page<VectorStoreRecord>> {
    return readPage(this.database, 'vector_stores', { owner: toKey(tenant) }, {}, page, toStore);
  }

  override change(tenant: Tenant, storeId: string, change: VectorStoreChange): Promise<VectorStoreRecord | undefined> {
    const key: ById = [toKey(tenant), toKey(storeId)];
    return this.database.transaction(async (run) => {
      const store = await this.holdAlive(run, key);
      if (store === undefined) return undefined;
      const changed = { ...store, ...change };
      await run(WRITE, [...key, expiryOf(changed), JSON.stringify(changed)]);
      return changed;
    });
  }

  override delete(tenant: Tenant, storeId: string): Promise<boolean> {
    const key: ById = [toKey(tenant), toKey(storeId)];
    return this.database.transaction(async (run) => {
      const left = await run(LEAVE, [...key, this.clock.now()]);
      if (left.length === 0) return false;
      await run(DROP_FILES, key);
      await run(DROP_BATCHES, key);
      await run(DISCARD_STORE, key);
      return true;
    });
  }

  override add(
    tenant: Tenant,
    storeId: string,
    files: readonly StoreFile[],
    batch: StoreBatch | null,
  ): Promise<boolean> {
    const key: ById = [toKey(tenant), toKey(storeId)];
    return this.database.transaction(async (run) => {
      if ((await this.holdAlive(run, key)) === undefined) return false;
      const known = await run(HOLD_KNOWN, [...key, files.map(({ fileId }) => toKey(fileId))]);
      const bytesOf = new Map(known.map(({ id, bytes }) => [id, bytes]));
      for (const file of files) {
        const { fileId, createdAt, batchId, status } = file;
        const bytes = bytesOf.get(toKey(fileId)) ?? file.bytes;
        const values = [createdAt, batchId === null ? null : toKey(batchId), status, bytes] as const;
        const about = JSON.stringify({ ...file, bytes });
        await run(ADD, [...key, toKey(fileId), JSON.stringify(tenant), ...values, about, this.unfoundAt(file)]);
      }
      if (batch !== null) await run(ADD_BATCH, [...key, toKey(batch.id), batch.createdAt, JSON.stringify(batch)]);
      return true;
    });
  }

  override async file(tenant: Tenant, storeId: string, fileId: string): Promise<StoreFile | undefined> {
    return one(await this.database.repeatable(FIND_FILE, [toKey(tenant), toKey(storeId), toKey(fileId)]), toStoreFile);
  }

  override files(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoreFile>> {
    const { status, batchId } = page;
    const filter = {
      ...(status === undefined ? {} : { status }),
      ...(batchId === undefined ? {} : { batch_id: toKey(batchId) }),
    };
    return readPage(
      this.database,
      'vector_store_files',
      { owner: toKey(tenant), store_id: toKey(storeId) },
      filter,
      page,
      toStoreFile,
    );
  }

  override async count(tenant: Tenant, storeId: string, batchId?: string): Promise<StoreFileCounts> {
    const batch = batchId === undefined ? null : toKey(batchId);
    const rows = await this.database.repeatable(COUNT, [toKey(tenant), toKey(storeId), batch]);
    const counts = { ...NO_STORE_FILES };
    for (const { status, files, bytes } of rows) {
      counts[status] = files;
      counts.bytes += bytes;
    }
    return counts;
  }

  override describe(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    attributes: Attributes,
  ): Promise<StoreFile | undefined> {
    return this.database.transaction(async (run) => {
      const file = one(await run(HOLD_FILE, [toKey(tenant), toKey(storeId), toKey(fileId)]), toStoreFile);
      return file && this.write(run, tenant, { ...file, attributes });
    });
  }

  override detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean> {
    const key: ByFile = [toKey(tenant), toKey(storeId), toKey(fileId)];
    return this.database.transaction(async (run) => {
      if ((await run(DETACH, [...key, this.clock.now()])).length === 0) return false;
      await run(DISCARD_FILES, [key[0], key[1], [key[2]]]);
      return true;
    });
  }

  override async storesOf(tenant: Tenant, fileId: string): Promise<readonly string[]> {
    const rows = await this.database.repeatable(STORES_OF, [toKey(tenant), toKey(fileId)]);
    return rows.map(({ about }) => toStoreFile(about).storeId);
  }

  override async batch(tenant: Tenant, storeId: string, batchId: string): Promise<StoreBatch | undefined> {
    return one(await this.database.repeatable(FIND_BATCH, [toKey(tenant), toKey(storeId), toKey(batchId)]), toBatch);
  }

  override cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<readonly string[] | undefined> {
    const key: ByFile = [toKey(tenant), toKey(storeId), toKey(batchId)];
    return this.database.transaction(async (run) => {
      const batch = one(await run(FIND_BATCH, key), toBatch);
      if (batch === undefined) return undefined;
      await run(WRITE_BATCH, [...key, JSON.stringify({ ...batch, isCancelled: true })]);
      const files = (await run(HOLD_BATCH_FILES, key)).map(({ about }) => toStoreFile(about));
      for (const file of files) await this.write(run, tenant, { ...file, status: 'cancelled', bytes: 0 });
      await run(DISCARD_FILES, [key[0], key[1], files.map(({ fileId }) => toKey(fileId))]);
      return files.map(({ fileId }) => fileId);
    });
  }

  override async claim(
    most: number,
    now: number,
    until: number,
    heldBack: readonly HeldStore[] = [],
  ): Promise<readonly ClaimedFile[]> {
    const held = [heldBack.map(({ tenant }) => toKey(tenant)), heldBack.map(({ storeId }) => toKey(storeId))] as const;
    const rows = await this.database.query(CLAIM, [most, now, until, ...held]);
    return inTurn(rows).map(({ about, tenant, attempt, tries }) => ({
      ...toStoreFile(about),
      tenant: JSON.parse(tenant) as Tenant,
      attempt,
      tries,
    }));
  }

  override reserve(claimed: ClaimedFile, bytes: number, most: number): Promise<'reserved' | 'full' | 'lost'> {
    const [owner, storeId, fileId] = keyOf(claimed);
    return this.database.transaction(async (run) => {
      await run(HOLD_STORES, [owner]);
      const [file] = await run(HOLD_ROOM, keyOf(claimed));
      if (file === undefined) return 'lost';
      const [used] = await run(USED, [owner]);
      const others = (used?.bytes ?? 0) - Math.max(file.bytes, file.reserved);
      if (others + Math.max(file.bytes, bytes) > most) return 'full';
      await run(RESERVE, [owner, storeId, fileId, bytes]);
      return 'reserved';
    });
  }

  override async renew(claimed: ClaimedFile, until: number): Promise<boolean> {
    return (await this.database.repeatable(RENEW, [...keyOf(claimed), until])).length > 0;
  }

  override async giveBack(claimed: ClaimedFile, notBefore: number): Promise<boolean> {
    return (await this.database.query(GIVE_BACK, [...keyOf(claimed), notBefore])).length > 0;
  }

  override settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Promise<boolean> {
    return this.database.transaction(async (run) => {
      const file = one(await run(HOLD_CLAIMED, keyOf(claimed)), toStoreFile);
      if (file === undefined) return false;
      await this.write(run, claimed.tenant, { ...file, ...outcome });
      const [owner, storeId, fileId] = keyOf(claimed);
      if (isUnfound(outcome)) await run(DISCARD_FILES, [owner, storeId, [fileId]]);
      return true;
    });
  }

  override async used(tenant: Tenant): Promise<VectorStoreUsage> {
    const [row] = await this.database.repeatable(USED, [toKey(tenant)]);
    return row ?? { stores: 0, bytes: 0 };
  }

  override async tenants(): Promise<readonly Tenant[]> {
    const rows = await this.database.repeatable(TENANTS, []);
    return rows.map(({ tenant }) => JSON.parse(tenant) as Tenant);
  }

  override async purge(): Promise<boolean> {
    const now = this.clock.now();
    const before = now - BOOKMARK_MS;
    const orphans = await this.database.repeatable(DROP_ORPHANS, [now]);
    // They are found by what is left of their files and stores.
    if (orphans.length > 0) return true;
    const files = await this.database.repeatable(DROP_EXPIRED, [now]);
    if (files.length === BATCH) return true;
    for (const forget of [FORGET_STORES, FORGET_FILES, LEAVE_UNFOUND, LEAVE_EXPIRED]) {
      await this.database.repeatable(forget, [before]);
    }
    const batches = await this.database.repeatable(DROP_BATCHES_WITHOUT_FILES, [Math.floor(before / 1000)]);
    return batches.length === BATCH;
  }

  private unfoundAt(file: StoreFile): number | null {
    return isUnfound(file) ? this.clock.now() : null;
  }

  private async write(run: RunStatement, tenant: Tenant, file: StoreFile): Promise<StoreFile> {
    const { storeId, fileId, status, bytes } = file;
    const values = [status, bytes, JSON.stringify(file), this.unfoundAt(file)] as const;
    await run(WRITE_FILE, [toKey(tenant), toKey(storeId), toKey(fileId), ...values]);
    return file;
  }

  private async holdAlive(run: RunStatement, key: ById): Promise<VectorStoreRecord | undefined> {
    const store = one(await run(HOLD, key), toStore);
    return store === undefined || isExpired(store, this.clock.now()) ? undefined : store;
  }
}

function toStore(about: string): VectorStoreRecord {
  return JSON.parse(about) as VectorStoreRecord;
}

function toStoreFile(about: string): StoreFile {
  return JSON.parse(about) as StoreFile;
}

function toBatch(about: string): StoreBatch {
  return JSON.parse(about) as StoreBatch;
}

function one<T>([row]: readonly Row[], read: (about: string) => T): T | undefined {
  return row && read(row.about);
}

function keyOf({ tenant, storeId, fileId, attempt }: ClaimedFile): ByClaim {
  return [toKey(tenant), toKey(storeId), toKey(fileId), attempt];
}
