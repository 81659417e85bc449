import type { StoreFileCounts, VectorStoreUsage } from '../../vector-stores.js';
import { prepared } from '../statement.js';

/** Files of expired stores, and documents, that one purge forgets at most. */
export const BATCH = 256;

/** A store, or a file of any. */
export type ById = readonly [owner: string, id: string];
/** A file or a batch in a store. */
export type ByFile = readonly [owner: string, storeId: string, id: string];
/** A file with the attempt that has claimed it. */
export type ByClaim = readonly [...ByFile, attempt: number];

/** A record, as JSON. */
export interface Row {
  readonly about: string;
}

export const CREATE = prepared<
  readonly [...ById, tenant: string, createdAt: number, expiresAt: number | null, about: string],
  never
>(
  'create_vector_store',
  'INSERT INTO antiphon.vector_stores (owner, id, tenant, created_at, expires_at, about) VALUES ($1, $2, $3, $4, $5, $6)',
);

export const FIND = prepared<ById, Row>(
  'find_vector_store',
  'SELECT about FROM antiphon.vector_stores WHERE owner = $1 AND id = $2 AND gone_at IS NULL',
);

/** Locked, so that changes follow one another, and no file is added while its store is deleted. */
export const HOLD = prepared<ById, Row>(
  'hold_vector_store',
  'SELECT about FROM antiphon.vector_stores WHERE owner = $1 AND id = $2 AND gone_at IS NULL FOR UPDATE',
);

export const WRITE = prepared<readonly [...ById, expiresAt: number | null, about: string], never>(
  'write_vector_store',
  'UPDATE antiphon.vector_stores SET expires_at = $3, about = $4 WHERE owner = $1 AND id = $2',
);

export const LEAVE = prepared<readonly [...ById, now: number], unknown>(
  'leave_vector_store',
  `UPDATE antiphon.vector_stores SET gone_at = $3, expires_at = NULL
  WHERE owner = $1 AND id = $2 AND gone_at IS NULL RETURNING 1`,
);

export const DROP_FILES = prepared<ById, never>(
  'drop_store_files',
  'DELETE FROM antiphon.vector_store_files WHERE owner = $1 AND store_id = $2',
);

export const DROP_BATCHES = prepared<ById, never>(
  'drop_store_batches',
  'DELETE FROM antiphon.vector_store_batches WHERE owner = $1 AND store_id = $2',
);

/** Nobody works on one that is done. */
export const ADD = prepared<
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

export const FIND_FILE = prepared<ByFile, Row>(
  'find_store_file',
  'SELECT about FROM antiphon.vector_store_files WHERE owner = $1 AND store_id = $2 AND id = $3 AND gone_at IS NULL',
);

export const HOLD_FILE = prepared<ByFile, Row>(
  'hold_store_file',
  `SELECT about FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND gone_at IS NULL FOR UPDATE`,
);

export const HOLD_CLAIMED = prepared<ByClaim, Row>(
  'hold_claimed_file',
  `SELECT about FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND attempt = $4 AND status = 'in_progress' AND gone_at IS NULL
  FOR UPDATE`,
);

export const HOLD_BATCH_FILES = prepared<ByFile, Row>(
  'hold_batch_files',
  `SELECT about FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND batch_id = $3 AND status = 'in_progress' AND gone_at IS NULL
  ORDER BY place FOR UPDATE`,
);

export const WRITE_FILE = prepared<readonly [...ByFile, status: string, bytes: number, about: string], never>(
  'write_store_file',
  `UPDATE antiphon.vector_store_files SET status = $4, bytes = $5, about = $6
  WHERE owner = $1 AND store_id = $2 AND id = $3`,
);

export const DETACH = prepared<readonly [...ByFile, now: number], unknown>(
  'detach_store_file',
  `UPDATE antiphon.vector_store_files SET gone_at = $4
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND gone_at IS NULL RETURNING 1`,
);

export const COUNT = prepared<
  readonly [...ById, batchId: string | null],
  { readonly status: keyof StoreFileCounts; readonly files: number; readonly bytes: number }
>(
  'count_store_files',
  `SELECT status, count(*)::float8 AS files, sum(bytes)::float8 AS bytes FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND gone_at IS NULL AND ($3::text IS NULL OR batch_id = $3) GROUP BY status`,
);

export const STORES_OF = prepared<ById, Row>(
  'stores_of_file',
  'SELECT about FROM antiphon.vector_store_files WHERE owner = $1 AND id = $2 AND gone_at IS NULL ORDER BY place',
);

export const ADD_BATCH = prepared<readonly [...ByFile, about: string], never>(
  'add_store_batch',
  'INSERT INTO antiphon.vector_store_batches (owner, store_id, id, about) VALUES ($1, $2, $3, $4)',
);

export const FIND_BATCH = prepared<ByFile, Row>(
  'find_store_batch',
  'SELECT about FROM antiphon.vector_store_batches WHERE owner = $1 AND store_id = $2 AND id = $3',
);

export const WRITE_BATCH = prepared<readonly [...ByFile, about: string], never>(
  'write_store_batch',
  'UPDATE antiphon.vector_store_batches SET about = $4 WHERE owner = $1 AND store_id = $2 AND id = $3',
);

/** Replicas claim side by side, and wait for none of another's. Materialized: a plan that asked again for each row would claim more than the limit. */
export const CLAIM = prepared<
  readonly [most: number, now: number, until: number],
  Row & { readonly tenant: string; readonly attempt: number; readonly place: string }
>(
  'claim_store_files',
  `WITH waiting AS MATERIALIZED (
    SELECT place FROM antiphon.vector_store_files
    WHERE status = 'in_progress' AND gone_at IS NULL AND claimed_until <= $2
    ORDER BY place LIMIT $1 FOR UPDATE SKIP LOCKED
  )
  UPDATE antiphon.vector_store_files f SET attempt = f.attempt + 1, claimed_until = $3
  FROM waiting WHERE f.place = waiting.place RETURNING f.about, f.tenant, f.attempt, f.place`,
);

export const RENEW = prepared<readonly [...ByClaim, until: number], unknown>(
  'renew_store_file',
  `UPDATE antiphon.vector_store_files SET claimed_until = $5
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND attempt = $4 AND status = 'in_progress' AND gone_at IS NULL
  RETURNING 1`,
);

export const USED = prepared<readonly [owner: string], VectorStoreUsage>(
  'vector_stores_used',
  `SELECT (SELECT count(*) FROM antiphon.vector_stores WHERE owner = $1 AND gone_at IS NULL)::float8 AS stores,
    (SELECT coalesce(sum(bytes), 0) FROM antiphon.vector_store_files WHERE owner = $1 AND gone_at IS NULL)::float8 AS bytes`,
);

export const TENANTS = prepared<readonly [], { readonly tenant: string }>(
  'vector_store_tenants',
  'SELECT DISTINCT tenant FROM antiphon.vector_stores WHERE gone_at IS NULL',
);

export const DROP_EXPIRED = prepared<readonly [now: number], unknown>(
  'drop_expired_store_files',
  `DELETE FROM antiphon.vector_store_files WHERE place IN (
    SELECT f.place FROM antiphon.vector_stores s
    JOIN antiphon.vector_store_files f ON f.owner = s.owner AND f.store_id = s.id
    WHERE s.expires_at <= $1 LIMIT ${BATCH}
  ) RETURNING 1`,
);

/** Documents of stores and files that were deleted, and of stores that have expired. */
export const DROP_ORPHANS = prepared<readonly [now: number], unknown>(
  'drop_orphan_documents',
  `DELETE FROM antiphon.vector_documents WHERE document IN (
    SELECT d.document FROM antiphon.vector_stores s
    JOIN antiphon.vector_documents d ON d.owner = s.owner AND d.store_id = s.id WHERE s.gone_at IS NOT NULL
    UNION
    SELECT d.document FROM antiphon.vector_stores s
    JOIN antiphon.vector_documents d ON d.owner = s.owner AND d.store_id = s.id WHERE s.expires_at <= $1
    UNION
    SELECT d.document FROM antiphon.vector_store_files f
    JOIN antiphon.vector_documents d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id
    WHERE f.gone_at IS NOT NULL LIMIT ${BATCH}
  ) RETURNING 1`,
);

export const FORGET_STORES = prepared<readonly [before: number], never>(
  'forget_vector_stores',
  'DELETE FROM antiphon.vector_stores WHERE gone_at <= $1',
);

export const FORGET_FILES = prepared<readonly [before: number], never>(
  'forget_store_files',
  'DELETE FROM antiphon.vector_store_files WHERE gone_at <= $1',
);
