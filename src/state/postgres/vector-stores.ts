import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { UnknownCursorError } from '../errors.js';
import { toKey } from '../keys.js';
import type { Page, PageRequest } from '../page.js';
import type { Attributes } from '../vector-index.js';
import {
  type ClaimedFile,
  expiryOf,
  inTurn,
  isExpired,
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
import { adHoc } from './statement.js';
import { directionOf } from './statements/page.js';
import {
  ADD,
  ADD_BATCH,
  BATCH,
  CLAIM,
  COUNT,
  CREATE,
  DETACH,
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
  HOLD_STORES,
  LEAVE,
  RENEW,
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
    return this.pageOf('vector_stores', { owner: toKey(tenant) }, {}, page, toStore);
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
        await run(ADD, [...key, toKey(fileId), JSON.stringify(tenant), ...values, about]);
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
    return this.pageOf(
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
      return file && write(run, tenant, { ...file, attributes });
    });
  }

  override async detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean> {
    const values = [toKey(tenant), toKey(storeId), toKey(fileId), this.clock.now()] as const;
    return (await this.database.query(DETACH, values)).length > 0;
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
      for (const file of files) await write(run, tenant, { ...file, status: 'cancelled', bytes: 0 });
      return files.map(({ fileId }) => fileId);
    });
  }

  override async claim(most: number, now: number, until: number): Promise<readonly ClaimedFile[]> {
    const rows = await this.database.query(CLAIM, [most, now, until]);
    return inTurn(rows).map(({ about, tenant, attempt, tries }) => ({
      ...toStoreFile(about),
      tenant: JSON.parse(tenant) as Tenant,
      attempt,
      tries,
    }));
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
      await write(run, claimed.tenant, { ...file, ...outcome });
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
    const orphans = await this.database.repeatable(DROP_ORPHANS, [now]);
    // They are found by what is left of their files and stores.
    if (orphans.length === BATCH) return true;
    await this.database.repeatable(FORGET_STORES, [now - BOOKMARK_MS]);
    await this.database.repeatable(FORGET_FILES, [now - BOOKMARK_MS]);
    const files = await this.database.repeatable(DROP_EXPIRED, [now]);
    const createdBefore = Math.floor((now - BOOKMARK_MS) / 1000);
    const batches = await this.database.repeatable(DROP_BATCHES_WITHOUT_FILES, [createdBefore]);
    return files.length === BATCH || batches.length === BATCH;
  }

  private async holdAlive(run: RunStatement, key: ById): Promise<VectorStoreRecord | undefined> {
    const store = one(await run(HOLD, key), toStore);
    return store === undefined || isExpired(store, this.clock.now()) ? undefined : store;
  }

  /** A page of a table. `filter` is what entries that are listed have; a cursor may be another one. */
  private async pageOf<T>(
    table: string,
    within: Readonly<Record<string, string>>,
    filter: Readonly<Record<string, string>>,
    page: PageRequest,
    read: (about: string) => T,
  ): Promise<Page<T>> {
    const { limit, after, before } = page;
    const cursor = after ?? before;
    const [comparison, direction] = directionOf(page);
    const values: unknown[] = Object.values({ ...within, ...filter });
    let behind = '';
    if (cursor !== undefined) {
      const find = adHoc<readonly unknown[], { readonly created_at: string; readonly id: string }>(
        `SELECT created_at, id FROM antiphon.${table} WHERE ${equal({ ...within, id: cursor })}`,
      );
      const [place] = await this.database.repeatable(find, [...Object.values(within), toKey(cursor)]);
      if (place === undefined) throw new UnknownCursorError(page);
      behind = ` AND (created_at, id) ${comparison} ($${values.length + 1}, $${values.length + 2})`;
      values.push(place.created_at, place.id);
    }
    const select = adHoc<readonly unknown[], Row>(
      `SELECT about FROM antiphon.${table} WHERE ${equal({ ...within, ...filter })} AND gone_at IS NULL${behind}
      ORDER BY created_at ${direction}, id ${direction} LIMIT ${limit + 1}`,
    );
    const rows = await this.database.repeatable(select, values);
    const data = rows.slice(0, limit).map(({ about }) => read(about));
    return { data: before === undefined ? data : data.reverse(), hasMore: rows.length > limit };
  }
}

/** A condition with a placeholder for each column, in their order. */
function equal(columns: Readonly<Record<string, string>>): string {
  return Object.keys(columns)
    .map((name, index) => `${name} = $${index + 1}`)
    .join(' AND ');
}

async function write(run: RunStatement, tenant: Tenant, file: StoreFile): Promise<StoreFile> {
  const { storeId, fileId, status, bytes } = file;
  await run(WRITE_FILE, [toKey(tenant), toKey(storeId), toKey(fileId), status, bytes, JSON.stringify(file)]);
  return file;
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
