import type { StoreFileCounts, VectorStoreUsage } from '../../vector-stores.js';
import type { Owner, SqlDialect } from '../dialect.js';
import { once, prepared } from '../statement.js';

/** Files, batches and documents that one purge forgets at most. */
export const STORE_BATCH = 256;

/** A store, or a file of any. */
export type ById = readonly [owner: Owner, id: string];
/** A file or a batch in a store. */
export type ByFile = readonly [owner: Owner, storeId: string, id: string];
/** A file with the attempt that has claimed it. */
export type ByClaim = readonly [...ByFile, attempt: number];

/** A record, as JSON. */
export interface AboutRow {
  readonly about: string;
}

/** What the columns of a file say of it, whose keys are its ids. */
export interface FileRow extends AboutRow {
  readonly store_id: string;
  readonly id: string;
  readonly created_at: number;
  readonly batch_id: string | null;
  readonly bytes: number;
}

/** The condition of a file that waits to be indexed. */
export const WAITS = `status = 'in_progress' AND gone_at IS NULL`;

const OF_STORE = 'owner = $1 AND store_id = $2';
const OF_FILE = `${OF_STORE} AND id = $3`;

/** The statements of vector stores that databases share. */
export type VectorStoreStatements = ReturnType<typeof vectorStoreStatements>;

/** Makes them. `tenants`: the query of the tenants that have stores, as JSON. */
export function vectorStoreStatements(
  { table, number, greatest, isIn, text, lock, held }: SqlDialect,
  tenants: string,
) {
  const [stores, files, batches] = ['vector_stores', 'vector_store_files', 'vector_store_batches'].map(table) as [
    string,
    string,
    string,
  ];
  const find = `SELECT about FROM ${stores} WHERE owner = $1 AND id = $2 AND gone_at IS NULL`;
  const columns = fileColumns(number);
  const findFile = `SELECT about FROM ${files} WHERE ${OF_FILE} AND gone_at IS NULL`;
  return {
    /** Stores of a tenant are created, and room is set aside, one at a time, so that its quotas hold. */
    lock: lock('hold_vector_stores', 'vector stores'),
    forget: prepared<ById, unknown>(
      'forget_vector_store',
      `DELETE FROM ${stores} WHERE owner = $1 AND id = $2 AND gone_at IS NOT NULL RETURNING 1`,
    ),
    find: prepared<ById, AboutRow>('find_vector_store', find),
    /** Changes follow one another, and no file is added while its store is deleted. */
    hold: prepared<ById, AboutRow>('hold_vector_store', `${find} ${held}`),
    write: prepared<readonly [...ById, expiresAt: number | null, about: string], never>(
      'write_vector_store',
      `UPDATE ${stores} SET expires_at = $3, about = $4 WHERE owner = $1 AND id = $2`,
    ),
    leave: prepared<readonly [...ById, now: number], unknown>(
      'leave_vector_store',
      `UPDATE ${stores} SET gone_at = $3, expires_at = NULL WHERE owner = $1 AND id = $2 AND gone_at IS NULL RETURNING 1`,
    ),
    dropFiles: prepared<ById, never>('drop_store_files', `DELETE FROM ${files} WHERE ${OF_STORE}`),
    dropBatches: prepared<ById, never>('drop_store_batches', `DELETE FROM ${batches} WHERE ${OF_STORE}`),
    holdKnown: prepared<readonly [...ById, ids: readonly string[]], { readonly id: string; readonly bytes: number }>(
      'hold_known_files',
      `SELECT id, ${number('bytes')} AS bytes FROM ${files}
      WHERE ${OF_STORE} AND ${isIn('id', '$3')} AND gone_at IS NULL ORDER BY place ${held}`,
    ),
    findFile: prepared<ByFile, AboutRow>('find_store_file', findFile),
    holdFile: prepared<ByFile, AboutRow>('hold_store_file', `${findFile} ${held}`),
    holdClaimed: prepared<ByClaim, FileRow>(
      'hold_claimed_file',
      `SELECT ${columns} FROM ${files} WHERE ${OF_FILE} AND attempt = $4 AND ${WAITS} ${held}`,
    ),
    holdBatchFiles: prepared<ByFile, FileRow>(
      'hold_batch_files',
      `SELECT ${columns} FROM ${files} WHERE ${OF_STORE} AND batch_id = $3 AND ${WAITS} ORDER BY place ${held}`,
    ),
    writeFile: prepared<
      readonly [...ByFile, status: string, bytes: number, about: string, unfoundAt: number | null],
      never
    >(
      'write_store_file',
      `UPDATE ${files} SET status = $4, bytes = $5, about = $6, unfound_at = $7,
        reserved = CASE WHEN $4 = 'in_progress' THEN reserved ELSE 0 END
      WHERE ${OF_FILE}`,
    ),
    detach: prepared<readonly [...ByFile, now: number], unknown>(
      'detach_store_file',
      `UPDATE ${files} SET gone_at = $4 WHERE ${OF_FILE} AND gone_at IS NULL RETURNING 1`,
    ),
    count: prepared<
      readonly [...ById, batchId: string | null],
      { readonly status: keyof StoreFileCounts; readonly files: number; readonly bytes: number }
    >(
      'count_store_files',
      `SELECT status, ${number('count(*)')} AS files, ${number('sum(bytes)')} AS bytes FROM ${files}
      WHERE ${OF_STORE} AND gone_at IS NULL AND (${text('$3')} IS NULL OR batch_id = $3) GROUP BY status`,
    ),
    storesOf: prepared<ById, { readonly store_id: string }>(
      'stores_of_file',
      `SELECT store_id FROM ${files} WHERE owner = $1 AND id = $2 AND gone_at IS NULL ORDER BY place`,
    ),
    addBatch: prepared<readonly [...ByFile, createdAt: number, about: string], never>(
      'add_store_batch',
      `INSERT INTO ${batches} (owner, store_id, id, created_at, about) VALUES ($1, $2, $3, $4, $5)`,
    ),
    findBatch: prepared<ByFile, AboutRow>('find_store_batch', `SELECT about FROM ${batches} WHERE ${OF_FILE}`),
    writeBatch: prepared<readonly [...ByFile, about: string], never>(
      'write_store_batch',
      `UPDATE ${batches} SET about = $4 WHERE ${OF_FILE}`,
    ),
    giveBack: once(
      prepared<readonly [...ByClaim, notBefore: number], unknown>(
        'give_back_store_file',
        `UPDATE ${files} SET attempt = 0, tries = tries - 1, claimed_until = $5, reserved = 0
        WHERE ${OF_FILE} AND attempt = $4 AND ${WAITS} RETURNING 1`,
      ),
    ),
    holdRoom: prepared<ByClaim, { readonly bytes: number; readonly reserved: number }>(
      'hold_room_of_store_file',
      `SELECT ${number('bytes')} AS bytes, ${number('reserved')} AS reserved FROM ${files}
      WHERE ${OF_FILE} AND attempt = $4 AND ${WAITS} ${held}`,
    ),
    reserve: prepared<readonly [...ByFile, bytes: number], never>(
      'reserve_room_of_store_file',
      `UPDATE ${files} SET reserved = $4 WHERE ${OF_FILE}`,
    ),
    renew: prepared<readonly [...ByClaim, until: number], unknown>(
      'renew_store_file',
      `UPDATE ${files} SET claimed_until = $5 WHERE ${OF_FILE} AND attempt = $4 AND ${WAITS} RETURNING 1`,
    ),
    used: prepared<readonly [owner: Owner], VectorStoreUsage>(
      'vector_stores_used',
      `SELECT ${number(`(SELECT count(*) FROM ${stores} WHERE owner = $1 AND gone_at IS NULL)`)} AS stores,
        ${number(`(SELECT coalesce(sum(${greatest('bytes', 'reserved')}), 0) FROM ${files} WHERE owner = $1 AND gone_at IS NULL)`)} AS bytes`,
    ),
    tenants: prepared<readonly [], { readonly tenant: string }>('vector_store_tenants', tenants),
    dropExpired: prepared<readonly [now: number], unknown>(
      'drop_expired_store_files',
      `DELETE FROM ${files} WHERE place IN (
        SELECT f.place FROM ${stores} s JOIN ${files} f ON f.owner = s.owner AND f.store_id = s.id
        WHERE s.expires_at <= $1 LIMIT ${STORE_BATCH}
      ) RETURNING 1`,
    ),
    dropBatchesWithoutFiles: prepared<readonly [createdBefore: number], unknown>(
      'drop_batches_without_files',
      `DELETE FROM ${batches} WHERE (owner, store_id, id) IN (
        SELECT b.owner, b.store_id, b.id FROM ${batches} b WHERE b.created_at <= $1 AND NOT EXISTS (
          SELECT 1 FROM ${files} f
          WHERE f.owner = b.owner AND f.store_id = b.store_id AND f.batch_id = b.id AND f.gone_at IS NULL
        ) LIMIT ${STORE_BATCH}
      ) RETURNING 1`,
    ),
    forgetStores: prepared<readonly [before: number], never>(
      'forget_vector_stores',
      `DELETE FROM ${stores} WHERE gone_at <= $1`,
    ),
    forgetFiles: prepared<readonly [before: number], never>(
      'forget_store_files',
      `DELETE FROM ${files} WHERE gone_at <= $1`,
    ),
    /** Clears the mark of files whose documents were forgotten so long ago that nobody writes them any more. */
    leaveUnfound: prepared<readonly [before: number], never>(
      'leave_unfound_files',
      `UPDATE ${files} SET unfound_at = NULL WHERE unfound_at <= $1`,
    ),
    leaveExpired: prepared<readonly [before: number], never>(
      'leave_expired_stores',
      `UPDATE ${stores} SET expires_at = NULL WHERE expires_at <= $1`,
    ),
  };
}

/** The columns of a `FileRow`. `table`: what they are columns of, with a dot. */
export function fileColumns(number: SqlDialect['number'], table = ''): string {
  const [createdAt, bytes] = [number(`${table}created_at`), number(`${table}bytes`)];
  return `${table}about, ${table}store_id, ${table}id, ${createdAt} AS created_at, ${table}batch_id, ${bytes} AS bytes`;
}

/**
 * The documents of stores that have ended or expired, and of files that have ended or are not to be found, up to a number. `$1`: the time,
 * milliseconds since the epoch.
 */
export function orphanDocuments({ table }: SqlDialect): string {
  const ofStore = `SELECT d.document FROM ${table('vector_stores')} s
    JOIN ${table('vector_documents')} d ON d.owner = s.owner AND d.store_id = s.id`;
  const ofFile = `SELECT d.document FROM ${table('vector_store_files')} f
    JOIN ${table('vector_documents')} d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id`;
  return `${ofStore} WHERE s.gone_at IS NOT NULL UNION ALL ${ofStore} WHERE s.expires_at <= $1
    UNION ALL ${ofFile} WHERE f.gone_at IS NOT NULL UNION ALL ${ofFile} WHERE f.unfound_at IS NOT NULL LIMIT ${STORE_BATCH}`;
}
