import type { StoreFileCounts, VectorStoreUsage, WaitingFile } from '../../vector-stores.js';
import { prepared, type Statement } from '../statement.js';

/** Files, batches, documents and chunks that one purge forgets at most. */
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

/** Stores of a tenant are created, and room is set aside, one at a time, so that its quotas hold. */
export const HOLD_STORES = prepared<readonly [owner: string], unknown>(
  'hold_vector_stores',
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon vector stores ' || $1, 0))`,
);

export const FORGET_STORE = prepared<ById, unknown>(
  'forget_vector_store',
  'DELETE FROM antiphon.vector_stores WHERE owner = $1 AND id = $2 AND gone_at IS NOT NULL RETURNING 1',
);

/** Forgets documents: nothing finds them any more, and the purge frees their chunks. */
export function discard<Values extends readonly unknown[]>(name: string, which: string): Statement<Values, unknown> {
  return prepared(
    name,
    `WITH gone AS (DELETE FROM antiphon.vector_documents WHERE ${which} RETURNING document)
    INSERT INTO antiphon.vector_garbage SELECT document FROM gone RETURNING 1`,
  );
}

export const DISCARD_STORE = discard<ById>('discard_vector_store', 'owner = $1 AND store_id = $2');

export const DISCARD_FILES = discard<readonly [...ById, fileIds: readonly string[]]>(
  'discard_store_files',
  'owner = $1 AND store_id = $2 AND file_id = ANY ($3::text[])',
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

export const HOLD_KNOWN = prepared<
  readonly [...ById, ids: readonly string[]],
  { readonly id: string; readonly bytes: number }
>(
  'hold_known_files',
  `SELECT id, bytes::float8 AS bytes FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND id = ANY ($3::text[]) AND gone_at IS NULL ORDER BY place FOR UPDATE`,
);

export const ADD = prepared<
  readonly [
    ...ByFile,
    tenant: string,
    createdAt: number,
    batchId: string | null,
    status: string,
    bytes: number,
    about: string,
    unfoundAt: number | null,
  ],
  never
>(
  'add_store_file',
  `INSERT INTO antiphon.vector_store_files AS f
    (owner, store_id, id, tenant, created_at, batch_id, status, bytes, about, unfound_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ON CONFLICT (owner, store_id, id) DO UPDATE SET created_at = excluded.created_at, batch_id = excluded.batch_id,
    status = excluded.status, bytes = excluded.bytes, about = excluded.about, unfound_at = excluded.unfound_at,
    gone_at = NULL, claimed_until = 0, place = DEFAULT, attempt = 0, tries = 0, reserved = 0`,
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

export const WRITE_FILE = prepared<
  readonly [...ByFile, status: string, bytes: number, about: string, unfoundAt: number | null],
  never
>(
  'write_store_file',
  `UPDATE antiphon.vector_store_files SET status = $4, bytes = $5, about = $6, unfound_at = $7,
    reserved = CASE WHEN $4 = 'in_progress' THEN reserved ELSE 0 END
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

export const ADD_BATCH = prepared<readonly [...ByFile, createdAt: number, about: string], never>(
  'add_store_batch',
  'INSERT INTO antiphon.vector_store_batches (owner, store_id, id, created_at, about) VALUES ($1, $2, $3, $4, $5)',
);

export const FIND_BATCH = prepared<ByFile, Row>(
  'find_store_batch',
  'SELECT about FROM antiphon.vector_store_batches WHERE owner = $1 AND store_id = $2 AND id = $3',
);

export const WRITE_BATCH = prepared<readonly [...ByFile, about: string], never>(
  'write_store_batch',
  'UPDATE antiphon.vector_store_batches SET about = $4 WHERE owner = $1 AND store_id = $2 AND id = $3',
);

const WAITS = `status = 'in_progress' AND gone_at IS NULL`;

/**
 * Replicas claim side by side, and wait for none of another's: some files more than are wanted are looked at, since others may have those.
 * The tenants come one by one from the index, which is short work also where one of them has many files. Materialized: a plan that asked
 * again for each row would claim more than the limit.
 */
export const CLAIM = prepared<
  readonly [most: number, now: number, until: number, heldOwners: readonly string[], heldStores: readonly string[]],
  Row & WaitingFile & { readonly tenant: string; readonly attempt: number; readonly tries: number }
>(
  'claim_store_files',
  `WITH RECURSIVE owners AS (
    (SELECT owner FROM antiphon.vector_store_files WHERE ${WAITS} ORDER BY owner LIMIT 1)
    UNION ALL
    SELECT (SELECT f.owner FROM antiphon.vector_store_files f WHERE ${WAITS} AND f.owner > o.owner ORDER BY f.owner LIMIT 1)
    FROM owners o WHERE o.owner IS NOT NULL
  ), lines AS MATERIALIZED (
    SELECT line.place, row_number() OVER (PARTITION BY o.owner ORDER BY line.place) - 1 AS turn, last.served
    FROM owners o
    CROSS JOIN LATERAL (SELECT max(served) AS served FROM antiphon.vector_store_files WHERE owner = o.owner) last
    CROSS JOIN LATERAL (
      SELECT place FROM antiphon.vector_store_files f
      WHERE ${WAITS} AND owner = o.owner AND claimed_until <= $2 AND NOT EXISTS (
        SELECT FROM unnest($4::text[], $5::text[]) AS held (owner, store_id)
        WHERE held.owner = f.owner AND held.store_id = f.store_id
      ) ORDER BY place LIMIT $1 * 4
    ) line
  ), waiting AS MATERIALIZED (
    SELECT f.place, lines.turn, lines.served FROM lines JOIN antiphon.vector_store_files f USING (place)
    WHERE ${WAITS} AND f.claimed_until <= $2
    ORDER BY lines.turn, lines.served, f.place LIMIT $1 FOR UPDATE OF f SKIP LOCKED
  ), claims AS MATERIALIZED (SELECT *, nextval('antiphon.vector_store_claims') AS attempt FROM waiting)
  UPDATE antiphon.vector_store_files f
  SET attempt = claims.attempt, served = claims.attempt, tries = f.tries + 1, claimed_until = $3, reserved = 0
  FROM claims WHERE f.place = claims.place
  RETURNING f.about, f.tenant, f.attempt::float8 AS attempt, f.tries, claims.turn::float8 AS turn,
    claims.served::float8 AS served, f.place::float8 AS place`,
);

export const GIVE_BACK = prepared<readonly [...ByClaim, notBefore: number], unknown>(
  'give_back_store_file',
  `UPDATE antiphon.vector_store_files
  SET attempt = 0, tries = tries - 1, claimed_until = $5, reserved = 0
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND attempt = $4 AND ${WAITS} RETURNING 1`,
);

export const HOLD_ROOM = prepared<ByClaim, { readonly bytes: number; readonly reserved: number }>(
  'hold_room_of_store_file',
  `SELECT bytes::float8 AS bytes, reserved::float8 AS reserved FROM antiphon.vector_store_files
  WHERE owner = $1 AND store_id = $2 AND id = $3 AND attempt = $4 AND ${WAITS} FOR UPDATE`,
);

export const RESERVE = prepared<readonly [...ByFile, bytes: number], never>(
  'reserve_room_of_store_file',
  'UPDATE antiphon.vector_store_files SET reserved = $4 WHERE owner = $1 AND store_id = $2 AND id = $3',
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
    (SELECT coalesce(sum(greatest(bytes, reserved)), 0) FROM antiphon.vector_store_files WHERE owner = $1 AND gone_at IS NULL)::float8 AS bytes`,
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

/**
 * What was written of stores and files after their documents were forgotten, and the documents of stores that have expired. Those that ended
 * more than BOOKMARK_MS ago are looked at no more.
 */
export const DROP_ORPHANS = discard<readonly [now: number]>(
  'drop_orphan_documents',
  `document IN (
    SELECT d.document FROM antiphon.vector_stores s
    JOIN antiphon.vector_documents d ON d.owner = s.owner AND d.store_id = s.id WHERE s.gone_at IS NOT NULL
    UNION ALL
    SELECT d.document FROM antiphon.vector_stores s
    JOIN antiphon.vector_documents d ON d.owner = s.owner AND d.store_id = s.id WHERE s.expires_at <= $1
    UNION ALL
    SELECT d.document FROM antiphon.vector_store_files f
    JOIN antiphon.vector_documents d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id
    WHERE f.gone_at IS NOT NULL
    UNION ALL
    SELECT d.document FROM antiphon.vector_store_files f
    JOIN antiphon.vector_documents d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id
    WHERE f.unfound_at IS NOT NULL LIMIT ${BATCH}
  )`,
);

export const DROP_BATCHES_WITHOUT_FILES = prepared<readonly [createdBefore: number], unknown>(
  'drop_batches_without_files',
  `DELETE FROM antiphon.vector_store_batches WHERE (owner, store_id, id) IN (
    SELECT b.owner, b.store_id, b.id FROM antiphon.vector_store_batches b
    WHERE b.created_at <= $1 AND NOT EXISTS (
      SELECT FROM antiphon.vector_store_files f
      WHERE f.owner = b.owner AND f.store_id = b.store_id AND f.batch_id = b.id AND f.gone_at IS NULL
    ) LIMIT ${BATCH}
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

/** Nobody writes anything more of them. */
export const LEAVE_UNFOUND = prepared<readonly [before: number], never>(
  'leave_unfound_files',
  'UPDATE antiphon.vector_store_files SET unfound_at = NULL WHERE unfound_at <= $1',
);

export const LEAVE_EXPIRED = prepared<readonly [before: number], never>(
  'leave_expired_stores',
  'UPDATE antiphon.vector_stores SET expires_at = NULL WHERE expires_at <= $1',
);
