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
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFileOutcome,
  type StoreFilePage,
  type VectorStoreChange,
  type VectorStoreRecord,
  VectorStoreRecords,
} from '../vector-stores.js';
import type { Database, RunStatement } from './database.js';
import { adHoc, prepared } from './statement.js';
import { directionOf } from './statements/page.js';

/** Files of expired stores, and documents, that one purge forgets at most. */
const BATCH = 256;

type ById = readonly [owner: string, id: string];
type ByFile = readonly [owner: string, storeId: string, id: string];
type ByClaim = readonly [...ByFile, attempt: number];

/** A record, as JSON. */
interface Row {
  readonly about: string;
}

const CREATE = prepared<
  readonly [...ById, tenant: string, createdAt: number, expiresAt: number | null, about: string],
  never
>(
  'create_vector_store',
  'INSERT INTO antiphon.vector_stores (owner, id, tenant, created_at, expires_at, about) VALUES ($1, $2, $3, $4, $5, $6)',
);

const FIND = prepared<ById, Row>(
  'find_vector_store',
  'SELECT about FROM antiphon.vector_stores WHERE owner = $1 AND id = $2 AND gone_at IS NULL',
);

/** Locked, so that changes follow one another, and no file is added while its store is deleted. */
const HOLD = prepared<ById, Row>(
  'hold_vector_store',
  'SELECT about FROM antiphon.vector_stores WHERE owner = $1 AND id = $2 AND gone_at IS NULL FOR UPDATE',
);

const WRITE = prepared<readonly [...ById, expiresAt: number | null, about: string], never>(
  'write_vector_store',
  'UPDATE antiphon.vector_stores SET expires_at = $3, about = $4 WHERE owner = $1 AND id = $2',
);

const LEAVE = prepared<readonly [...ById, now: number], unknown>(
  'leave_vector_store',
  `UPDATE antiphon.vector_stores SET gone_at = $3, expires_at = NULL
  WHERE owner = $1 AND id = $2 AND gone_at IS NULL RETURNING 1`,
);

const DROP_FILES = prepared<ById, never>(
  'drop_store_files',
  'DELETE FROM antiphon.vector_store_files WHERE owner = $1 AND store_id = $2',
);

const DROP_BATCHES = prepared<ById, never>(
  'drop_store_batches',
  'DELETE FROM antiphon.vector_store_batches WHERE owner = $1 AND store_id = $2',
);

/** Nobody works on one that is done. */
const ADD = prepared<
  readonly [
    ...ByFile,
    tenant: string,
    createdAt: number,
    batchId: string | null,
    status: string,
    bytes: number,
    about: string,
  ],
  never
>(
  'add_store_file',
  `INSERT INTO antiphon.vector_store_files AS f (owner, store_id, id, tenant, created_at, batch_id, status, bytes, about)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (owner, store_id, id) DO UPDATE SET created_at = excluded.created_at, batch_id = excluded.batch_id,
    status = excluded.status, bytes = excluded.bytes, about = excluded.about, gone_at = NULL, claimed_until = 0,
    place = DEFAULT, attempt = CASE WHEN f.status IN ('completed', 'failed') THEN 0 ELSE f.attempt END`,
);

const FIND_FILE = prepared<ByFile, Row>(
  'find_store_file',
  'SELECT about FROM antiphon.vector_store_files WHERE owner = $1 AND store_id = $2 AND id = $3 AND gone_at IS NULL',
);

const HOLD_FILE = prepared<ByFile, Row>(
  'hold_store_file',
  `SELECT about FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND gone_at IS NULL FOR UPDATE`,
);

const HOLD_CLAIMED = prepared<ByClaim, Row>(
  'hold_claimed_file',
  `SELECT about FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND attempt = $4 AND status = 'in_progress' AND gone_at IS NULL
  FOR UPDATE`,
);

const HOLD_BATCH_FILES = prepared<ByFile, Row>(
  'hold_batch_files',
  `SELECT about FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND batch_id = $3 AND status = 'in_progress' AND gone_at IS NULL
  ORDER BY place FOR UPDATE`,
);

const WRITE_FILE = prepared<readonly [...ByFile, status: string, bytes: number, about: string], never>(
  'write_store_file',
  `UPDATE antiphon.vector_store_files SET status = $4, bytes = $5, about = $6
  WHERE owner = $1 AND store_id = $2 AND id = $3`,
);

const DETACH = prepared<readonly [...ByFile, now: number], unknown>(
  'detach_store_file',
  `UPDATE antiphon.vector_store_files SET gone_at = $4
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND gone_at IS NULL RETURNING 1`,
);

const COUNT = prepared<
  readonly [...ById, batchId: string | null],
  { readonly status: keyof StoreFileCounts; readonly files: number; readonly bytes: number }
>(
  'count_store_files',
  `SELECT status, count(*)::float8 AS files, sum(bytes)::float8 AS bytes FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND gone_at IS NULL AND ($3::text IS NULL OR batch_id = $3) GROUP BY status`,
);

const STORES_OF = prepared<ById, Row>(
  'stores_of_file',
  'SELECT about FROM antiphon.vector_store_files WHERE owner = $1 AND id = $2 AND gone_at IS NULL ORDER BY place',
);

const ADD_BATCH = prepared<readonly [...ByFile, about: string], never>(
  'add_store_batch',
  'INSERT INTO antiphon.vector_store_batches (owner, store_id, id, about) VALUES ($1, $2, $3, $4)',
);

const FIND_BATCH = prepared<ByFile, Row>(
  'find_store_batch',
  'SELECT about FROM antiphon.vector_store_batches WHERE owner = $1 AND store_id = $2 AND id = $3',
);

const WRITE_BATCH = prepared<readonly [...ByFile, about: string], never>(
  'write_store_batch',
  'UPDATE antiphon.vector_store_batches SET about = $4 WHERE owner = $1 AND store_id = $2 AND id = $3',
);

/** Replicas claim side by side, and wait for none of another's. */
const CLAIM = prepared<
  readonly [most: number, now: number, until: number],
  Row & { readonly tenant: string; readonly attempt: number; readonly place: string }
>(
  'claim_store_files',
  `UPDATE antiphon.vector_store_files SET attempt = attempt + 1, claimed_until = $3 WHERE place IN (
    SELECT place FROM antiphon.vector_store_files
    WHERE status = 'in_progress' AND gone_at IS NULL AND claimed_until <= $2
    ORDER BY place LIMIT $1 FOR UPDATE SKIP LOCKED
  ) RETURNING about, tenant, attempt, place`,
);

const RENEW = prepared<readonly [...ByClaim, until: number], unknown>(
  'renew_store_file',
  `UPDATE antiphon.vector_store_files SET claimed_until = $5
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND attempt = $4 AND status = 'in_progress' AND gone_at IS NULL
  RETURNING 1`,
);

const TENANTS = prepared<readonly [], { readonly tenant: string }>(
  'vector_store_tenants',
  'SELECT DISTINCT tenant FROM antiphon.vector_stores WHERE gone_at IS NULL',
);

const DROP_EXPIRED = prepared<readonly [now: number], unknown>(
  'drop_expired_store_files',
  `DELETE FROM antiphon.vector_store_files WHERE place IN (
    SELECT f.place FROM antiphon.vector_stores s
    JOIN antiphon.vector_store_files f ON f.owner = s.owner AND f.store_id = s.id
    WHERE s.expires_at <= $1 LIMIT ${BATCH}
  ) RETURNING 1`,
);

/** Documents of stores and files that were deleted, and of stores that have expired. */
const DROP_ORPHANS = prepared<readonly [now: number], unknown>(
  'drop_orphan_documents',
  `DELETE FROM antiphon.vector_documents WHERE document IN (
    SELECT d.document FROM antiphon.vector_stores s
    JOIN antiphon.vector_documents d ON d.owner = s.owner AND d.store_id = s.id WHERE s.gone_at IS NOT NULL
    UNION ALL
    SELECT d.document FROM antiphon.vector_stores s
    JOIN antiphon.vector_documents d ON d.owner = s.owner AND d.store_id = s.id WHERE s.expires_at <= $1
    UNION ALL
    SELECT d.document FROM antiphon.vector_store_files f
    JOIN antiphon.vector_documents d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id
    WHERE f.gone_at IS NOT NULL LIMIT ${BATCH}
  ) RETURNING 1`,
);

const FORGET_STORES = prepared<readonly [before: number], never>(
  'forget_vector_stores',
  'DELETE FROM antiphon.vector_stores WHERE gone_at <= $1',
);

const FORGET_FILES = prepared<readonly [before: number], never>(
  'forget_store_files',
  'DELETE FROM antiphon.vector_store_files WHERE gone_at <= $1',
);

/** Vector stores in PostgreSQL. */
export class PostgresVectorStores extends VectorStoreRecords {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async create(tenant: Tenant, store: VectorStoreRecord): Promise<void> {
    const values = [JSON.stringify(tenant), store.createdAt, expiryIn(store), JSON.stringify(store)] as const;
    await this.database.query(CREATE, [toKey(tenant), toKey(store.id), ...values]);
  }

  override async get(tenant: Tenant, storeId: string): Promise<VectorStoreRecord | undefined> {
    return one(await this.database.repeatable(FIND, [toKey(tenant), toKey(storeId)]));
  }

  override list(tenant: Tenant, page: PageRequest): Promise<Page<VectorStoreRecord>> {
    return this.pageOf('vector_stores', { owner: toKey(tenant) }, {}, page);
  }

  override change(tenant: Tenant, storeId: string, change: VectorStoreChange): Promise<VectorStoreRecord | undefined> {
    const key: ById = [toKey(tenant), toKey(storeId)];
    return this.database.transaction(async (run) => {
      const store = one<VectorStoreRecord>(await run(HOLD, key));
      if (store === undefined) return undefined;
      const changed = { ...store, ...change };
      await run(WRITE, [...key, expiryIn(changed), JSON.stringify(changed)]);
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
      if ((await run(HOLD, key)).length === 0) return false;
      for (const file of files) {
        const { fileId, createdAt, batchId, status, bytes } = file;
        const values = [createdAt, batchId === null ? null : toKey(batchId), status, bytes] as const;
        await run(ADD, [...key, toKey(fileId), JSON.stringify(tenant), ...values, JSON.stringify(file)]);
      }
      if (batch !== null) await run(ADD_BATCH, [...key, toKey(batch.id), JSON.stringify(batch)]);
      return true;
    });
  }

  override async file(tenant: Tenant, storeId: string, fileId: string): Promise<StoreFile | undefined> {
    return one(await this.database.repeatable(FIND_FILE, [toKey(tenant), toKey(storeId), toKey(fileId)]));
  }

  override files(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoreFile>> {
    const { status, batchId } = page;
    const filter = {
      ...(status === undefined ? {} : { status }),
      ...(batchId === undefined ? {} : { batch_id: toKey(batchId) }),
    };
    return this.pageOf('vector_store_files', { owner: toKey(tenant), store_id: toKey(storeId) }, filter, page);
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
      const file = one<StoreFile>(await run(HOLD_FILE, [toKey(tenant), toKey(storeId), toKey(fileId)]));
      return file && write(run, tenant, { ...file, attributes });
    });
  }

  override async detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean> {
    const values = [toKey(tenant), toKey(storeId), toKey(fileId), this.clock.now()] as const;
    return (await this.database.query(DETACH, values)).length > 0;
  }

  override async storesOf(tenant: Tenant, fileId: string): Promise<readonly string[]> {
    const rows = await this.database.repeatable(STORES_OF, [toKey(tenant), toKey(fileId)]);
    return rows.map(({ about }) => (JSON.parse(about) as StoreFile).storeId);
  }

  override async batch(tenant: Tenant, storeId: string, batchId: string): Promise<StoreBatch | undefined> {
    return one(await this.database.repeatable(FIND_BATCH, [toKey(tenant), toKey(storeId), toKey(batchId)]));
  }

  override cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<boolean> {
    const key: ByFile = [toKey(tenant), toKey(storeId), toKey(batchId)];
    return this.database.transaction(async (run) => {
      const batch = one<StoreBatch>(await run(FIND_BATCH, key));
      if (batch === undefined) return false;
      await run(WRITE_BATCH, [...key, JSON.stringify({ ...batch, isCancelled: true })]);
      for (const { about } of await run(HOLD_BATCH_FILES, key)) {
        await write(run, tenant, { ...(JSON.parse(about) as StoreFile), status: 'cancelled' });
      }
      return true;
    });
  }

  override async claim(most: number, now: number, until: number): Promise<readonly ClaimedFile[]> {
    const rows = await this.database.query(CLAIM, [most, now, until]);
    return rows
      .toSorted((one, other) => Number(one.place) - Number(other.place))
      .map(({ about, tenant, attempt }) => ({
        ...(JSON.parse(about) as StoreFile),
        tenant: JSON.parse(tenant) as Tenant,
        attempt,
      }));
  }

  override async renew(claimed: ClaimedFile, until: number): Promise<boolean> {
    return (await this.database.repeatable(RENEW, [...keyOf(claimed), until])).length > 0;
  }

  override settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Promise<boolean> {
    return this.database.transaction(async (run) => {
      const file = one<StoreFile>(await run(HOLD_CLAIMED, keyOf(claimed)));
      if (file === undefined) return false;
      await write(run, claimed.tenant, { ...file, ...outcome });
      return true;
    });
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
    return (await this.database.repeatable(DROP_EXPIRED, [now])).length === BATCH;
  }

  /** A page of a table. `filter` is what entries that are listed have; a cursor may be another one. */
  private async pageOf<T>(
    table: string,
    within: Readonly<Record<string, string>>,
    filter: Readonly<Record<string, string>>,
    page: PageRequest,
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
    const data = rows.slice(0, limit).map(({ about }) => JSON.parse(about) as T);
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

function one<T>([row]: readonly Row[]): T | undefined {
  return row && (JSON.parse(row.about) as T);
}

function keyOf({ tenant, storeId, fileId, attempt }: ClaimedFile): ByClaim {
  return [toKey(tenant), toKey(storeId), toKey(fileId), attempt];
}

/** Null: it does not expire. */
function expiryIn(store: VectorStoreRecord): number | null {
  const expiry = expiryOf(store);
  return expiry === Infinity ? null : expiry;
}
