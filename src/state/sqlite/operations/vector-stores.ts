import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

import type { Tenant } from '../../../access/index.js';
import { BOOKMARK_MS } from '../../bookmark.js';
import { toKey } from '../../keys.js';
import { isForward, type Page, type PageRequest } from '../../page.js';
import type { Attributes } from '../../vector-index.js';
import {
  expiryOf,
  isExpired,
  isUnfound,
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFilePage,
  type VectorStoreChange,
  type VectorStoreRecord,
  type VectorStoreUsage,
} from '../../vector-stores.js';
import { tenantNumbers } from './tenants.js';
import { one, storeFileWriter, toFile } from './store-file-claims.js';
import { discardIn } from '../vectors.js';

type Row = Readonly<Record<string, unknown>>;

/** Files of expired stores, and batches, that one purge forgets at most. */
const BATCH = 256;

/** Vector stores, their files and their batches. Times are ms since the epoch. */
export function vectorStoreOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const create = database.prepare(
    'INSERT INTO vector_stores (owner, id, created_at, expires_at, about) VALUES (?, ?, ?, ?, ?)',
  );
  const countStores = database.prepare(
    'SELECT count(*) AS stores FROM vector_stores WHERE owner = ? AND gone_at IS NULL',
  );
  const forget = database.prepare('DELETE FROM vector_stores WHERE owner = ? AND id = ? AND gone_at IS NOT NULL');
  const discard = discardIn(database);
  const find = database.prepare('SELECT about FROM vector_stores WHERE owner = ? AND id = ? AND gone_at IS NULL');
  const write = database.prepare('UPDATE vector_stores SET expires_at = ?, about = ? WHERE owner = ? AND id = ?');
  const leave = database.prepare(
    'UPDATE vector_stores SET gone_at = ?, expires_at = NULL WHERE owner = ? AND id = ? AND gone_at IS NULL',
  );
  const dropFiles = database.prepare('DELETE FROM vector_store_files WHERE owner = ? AND store_id = ?');
  const dropBatches = database.prepare('DELETE FROM vector_store_batches WHERE owner = ? AND store_id = ?');
  const known = database.prepare(
    'SELECT bytes, served, gone_at FROM vector_store_files WHERE owner = ? AND store_id = ? AND id = ?',
  );
  const replace = database.prepare('DELETE FROM vector_store_files WHERE owner = ? AND store_id = ? AND id = ?');
  const add = database.prepare(
    `INSERT INTO vector_store_files
      (owner, store_id, id, created_at, batch_id, status, bytes, attempt, served, claimed_until, about, unfound_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, 0, ?, ?)`,
  );
  const findFile = database.prepare(
    'SELECT about FROM vector_store_files WHERE owner = ? AND store_id = ? AND id = ? AND gone_at IS NULL',
  );
  const detach = database.prepare(
    'UPDATE vector_store_files SET gone_at = ? WHERE owner = ? AND store_id = ? AND id = ? AND gone_at IS NULL',
  );
  const count = database.prepare(
    `SELECT status, count(*) AS files, sum(bytes) AS bytes FROM vector_store_files
    WHERE owner = ?1 AND store_id = ?2 AND gone_at IS NULL AND (?3 IS NULL OR batch_id = ?3) GROUP BY status`,
  );
  const storesOf = database.prepare(
    'SELECT about FROM vector_store_files WHERE owner = ? AND id = ? AND gone_at IS NULL ORDER BY place',
  );
  const addBatch = database.prepare(
    'INSERT INTO vector_store_batches (owner, store_id, id, created_at, about) VALUES (?, ?, ?, ?, ?)',
  );
  const findBatch = database.prepare(
    'SELECT about FROM vector_store_batches WHERE owner = ? AND store_id = ? AND id = ?',
  );
  const writeBatch = database.prepare(
    'UPDATE vector_store_batches SET about = ? WHERE owner = ? AND store_id = ? AND id = ?',
  );
  const ofBatch = database.prepare(
    `SELECT about FROM vector_store_files
    WHERE owner = ? AND store_id = ? AND batch_id = ? AND status = 'in_progress' AND gone_at IS NULL`,
  );
  const used = database.prepare(
    `SELECT (SELECT count(*) FROM vector_stores WHERE owner = ?1 AND gone_at IS NULL) AS stores,
      (SELECT coalesce(sum(max(bytes, reserved)), 0) FROM vector_store_files WHERE owner = ?1 AND gone_at IS NULL) AS bytes`,
  );
  const owners = database.prepare(
    'SELECT name FROM tenants WHERE owner IN (SELECT owner FROM vector_stores WHERE gone_at IS NULL)',
  );
  const dropExpired = database.prepare(
    `DELETE FROM vector_store_files WHERE place IN (
      SELECT f.place FROM vector_stores s JOIN vector_store_files f ON f.owner = s.owner AND f.store_id = s.id
      WHERE s.expires_at <= ? LIMIT ${BATCH})`,
  );
  const dropBatchesWithoutFiles = database.prepare(
    `DELETE FROM vector_store_batches WHERE (owner, store_id, id) IN (
      SELECT b.owner, b.store_id, b.id FROM vector_store_batches b WHERE b.created_at <= ? AND NOT EXISTS (
        SELECT 1 FROM vector_store_files f
        WHERE f.owner = b.owner AND f.store_id = b.store_id AND f.batch_id = b.id AND f.gone_at IS NULL
      ) LIMIT ${BATCH})`,
  );
  const forgetStores = database.prepare('DELETE FROM vector_stores WHERE gone_at <= ?');
  const forgetFiles = database.prepare('DELETE FROM vector_store_files WHERE gone_at <= ?');
  // Nobody writes anything more of them.
  const leaveUnfound = database.prepare('UPDATE vector_store_files SET unfound_at = NULL WHERE unfound_at <= ?');
  const leaveExpired = database.prepare('UPDATE vector_stores SET expires_at = NULL WHERE expires_at <= ?');

  const storeOf = (tenant: string, id: string): VectorStoreRecord | undefined =>
    one(find.get(tenants.find(tenant), toKey(id)), toStore);
  const aliveOf = (tenant: string, id: string, now: number): VectorStoreRecord | undefined => {
    const store = storeOf(tenant, id);
    return store === undefined || isExpired(store, now) ? undefined : store;
  };
  const fileOf = (tenant: string, storeId: string, fileId: string): StoreFile | undefined =>
    one(findFile.get(tenants.find(tenant), toKey(storeId), toKey(fileId)), toFile);
  const put = storeFileWriter(database);

  /** A page of a table. `filter` is what entries that are listed have; a cursor may be another one. */
  const pageOf = <T>(
    table: string,
    within: Readonly<Record<string, SQLInputValue>>,
    filter: Readonly<Record<string, SQLInputValue>>,
    page: PageRequest,
    read: (row: Row) => T,
  ): Page<T> | 'unknown cursor' => {
    const { limit, after, before } = page;
    const cursor = after ?? before;
    const [comparison, direction] = isForward(page) ? ['>', 'ASC'] : ['<', 'DESC'];
    const values = [...Object.values(within), ...Object.values(filter)];
    let behind = '';
    if (cursor !== undefined) {
      const find = database.prepare(`SELECT created_at, id FROM ${table} WHERE ${equal(within)} AND id = ?`);
      const place = find.get(...Object.values(within), toKey(cursor));
      if (place === undefined) return 'unknown cursor';
      behind = ` AND (created_at, id) ${comparison} (?, ?)`;
      values.push(place['created_at'] as number, place['id'] as string);
    }
    const rows = database
      .prepare(
        `SELECT about FROM ${table} WHERE ${equal({ ...within, ...filter })} AND gone_at IS NULL${behind}
        ORDER BY created_at ${direction}, id ${direction} LIMIT ?`,
      )
      .all(...values, limit + 1);
    const data = rows.slice(0, limit).map(read);
    return { data: before === undefined ? data : data.reverse(), hasMore: rows.length > limit };
  };

  return {
    createVectorStore: (tenant: string, store: VectorStoreRecord, most: number): boolean => {
      const { id, createdAt } = store;
      const owner = tenants.findOrCreate(tenant);
      if (Number(countStores.get(owner)?.['stores']) >= most) return false;
      if (forget.run(owner, toKey(id)).changes > 0) discard.store(owner, toKey(id));
      create.run(owner, toKey(id), createdAt, expiryOf(store), JSON.stringify(store));
      return true;
    },

    getVectorStore: storeOf,

    listVectorStores: (tenant: string, page: PageRequest): Page<VectorStoreRecord> | 'unknown cursor' =>
      pageOf('vector_stores', { owner: tenants.find(tenant) }, {}, page, toStore),

    changeVectorStore: (
      tenant: string,
      id: string,
      change: VectorStoreChange,
      now: number,
    ): VectorStoreRecord | undefined => {
      const store = aliveOf(tenant, id, now);
      if (store === undefined) return undefined;
      const changed = { ...store, ...change };
      write.run(expiryOf(changed), JSON.stringify(changed), tenants.find(tenant), toKey(id));
      return changed;
    },

    deleteVectorStore: (tenant: string, id: string, now: number): boolean => {
      const store = [tenants.find(tenant), toKey(id)] as const;
      if (leave.run(now, ...store).changes === 0) return false;
      dropFiles.run(...store);
      dropBatches.run(...store);
      discard.store(...store);
      return true;
    },

    addStoreFiles: (
      tenant: string,
      storeId: string,
      files: readonly StoreFile[],
      batch: StoreBatch | null,
      now: number,
    ): boolean => {
      if (aliveOf(tenant, storeId, now) === undefined) return false;
      const store = [tenants.find(tenant), toKey(storeId)] as const;
      for (const file of files) {
        const id = toKey(file.fileId);
        const row = known.get(...store, id);
        // They are found until it is settled.
        const added = { ...file, bytes: row?.['gone_at'] === null ? Number(row['bytes']) : file.bytes };
        replace.run(...store, id);
        const batchId = file.batchId === null ? null : toKey(file.batchId);
        const { createdAt, status, bytes } = added;
        const served = Number(row?.['served'] ?? 0);
        const unfoundAt = isUnfound(added) ? now : null;
        add.run(...store, id, createdAt, batchId, status, bytes, served, JSON.stringify(added), unfoundAt);
      }
      if (batch !== null) addBatch.run(...store, toKey(batch.id), batch.createdAt, JSON.stringify(batch));
      return true;
    },

    getStoreFile: fileOf,

    listStoreFiles: (tenant: string, storeId: string, page: StoreFilePage): Page<StoreFile> | 'unknown cursor' => {
      const { status, batchId } = page;
      const filter = {
        ...(status === undefined ? {} : { status }),
        ...(batchId === undefined ? {} : { batch_id: toKey(batchId) }),
      };
      return pageOf(
        'vector_store_files',
        { owner: tenants.find(tenant), store_id: toKey(storeId) },
        filter,
        page,
        toFile,
      );
    },

    countStoreFiles: (tenant: string, storeId: string, batchId?: string): StoreFileCounts => {
      const rows = count.all(tenants.find(tenant), toKey(storeId), batchId === undefined ? null : toKey(batchId));
      const counts: Record<string, number> = { ...NO_STORE_FILES };
      for (const row of rows) {
        counts[String(row['status'])] = Number(row['files']);
        counts['bytes'] = (counts['bytes'] ?? 0) + Number(row['bytes']);
      }
      return counts as StoreFileCounts;
    },

    describeStoreFile: (
      tenant: string,
      storeId: string,
      fileId: string,
      attributes: Attributes,
      now: number,
    ): StoreFile | undefined => {
      const file = fileOf(tenant, storeId, fileId);
      if (file === undefined) return undefined;
      put(tenant, { ...file, attributes }, now);
      return { ...file, attributes };
    },

    detachStoreFile: (tenant: string, storeId: string, fileId: string, now: number): boolean => {
      const file = [tenants.find(tenant), toKey(storeId), toKey(fileId)] as const;
      if (detach.run(now, ...file).changes === 0) return false;
      discard.file(...file);
      return true;
    },

    storesOfFile: (tenant: string, fileId: string): readonly string[] =>
      storesOf.all(tenants.find(tenant), toKey(fileId)).map((row) => toFile(row).storeId),

    getStoreBatch: (tenant: string, storeId: string, batchId: string): StoreBatch | undefined =>
      one(findBatch.get(tenants.find(tenant), toKey(storeId), toKey(batchId)), toBatch),

    cancelStoreBatch: (
      tenant: string,
      storeId: string,
      batchId: string,
      now: number,
    ): readonly string[] | undefined => {
      const key = [tenants.find(tenant), toKey(storeId), toKey(batchId)] as const;
      const batch = one(findBatch.get(...key), toBatch);
      if (batch === undefined) return undefined;
      writeBatch.run(JSON.stringify({ ...batch, isCancelled: true }), ...key);
      const files = ofBatch.all(...key).map(toFile);
      for (const file of files) put(tenant, { ...file, status: 'cancelled', bytes: 0 }, now);
      for (const { fileId } of files) discard.file(key[0], key[1], toKey(fileId));
      return files.map(({ fileId }) => fileId);
    },

    vectorStoresUsed: (tenant: string): VectorStoreUsage => {
      const row = used.get(tenants.find(tenant)) as Row;
      return { stores: Number(row['stores']), bytes: Number(row['bytes']) };
    },

    tenantsWithStores: (): readonly Tenant[] => owners.all().map(({ name }) => JSON.parse(String(name)) as Tenant),

    purgeVectorStores: (now: number): boolean => {
      const before = now - BOOKMARK_MS;
      if (Number(dropExpired.run(now).changes) === BATCH) return true;
      for (const forget of [forgetStores, forgetFiles, leaveUnfound, leaveExpired]) forget.run(before);
      return Number(dropBatchesWithoutFiles.run(Math.floor(before / 1000)).changes) === BATCH;
    },
  };
}

/** A condition with a placeholder for each column, in their order. */
function equal(columns: Readonly<Record<string, SQLInputValue>>): string {
  return Object.keys(columns)
    .map((name) => `${name} = ?`)
    .join(' AND ');
}

function toStore({ about }: Row): VectorStoreRecord {
  return JSON.parse(String(about)) as VectorStoreRecord;
}

function toBatch({ about }: Row): StoreBatch {
  return JSON.parse(String(about)) as StoreBatch;
}
