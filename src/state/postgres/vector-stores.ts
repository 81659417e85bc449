import type { Tenant } from '../../access/index.js';
import { isDigest, toKey } from '../keys.js';
import { readTenant } from '../read-record.js';
import { readable } from '../readable-page.js';
import { OWNERS_BY_KEY, POSTGRES } from '../sql/dialect.js';
import { once, prepared, type Statement } from '../sql/statement.js';
import {
  type ByFile,
  type ById,
  fileColumns,
  type FileRow,
  orphanDocuments,
  vectorStoreStatements,
  WAITS,
} from '../sql/statements/vector-stores.js';
import { rowsOf, type Steps } from '../sql/steps.js';
import { readWaiting } from '../sql/stored-vector-stores.js';
import { type FileColumns, SqlVectorStores, type StoreColumns } from '../sql/vector-stores.js';
import { type HeldStore, inTurn, type WaitingFile } from '../vector-stores.js';

const STATEMENTS = vectorStoreStatements(
  POSTGRES,
  'SELECT DISTINCT tenant FROM antiphon.vector_stores WHERE gone_at IS NULL',
);

const INSERT = prepared<readonly [...ById, tenant: string, ...StoreColumns], never>(
  'create_vector_store',
  'INSERT INTO antiphon.vector_stores (owner, id, tenant, created_at, expires_at, about) VALUES ($1, $2, $3, $4, $5, $6)',
);

const INSERT_FILE = prepared<readonly [...ByFile, tenant: string, ...FileColumns], never>(
  'add_store_file',
  `INSERT INTO antiphon.vector_store_files AS f
    (owner, store_id, id, tenant, created_at, batch_id, status, bytes, about, unfound_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
  ON CONFLICT (owner, store_id, id) DO UPDATE SET created_at = excluded.created_at, batch_id = excluded.batch_id,
    status = excluded.status, bytes = excluded.bytes, about = excluded.about, unfound_at = excluded.unfound_at,
    gone_at = NULL, claimed_until = 0, place = DEFAULT, attempt = 0, tries = 0, reserved = 0`,
);

/**
 * Replicas claim side by side, and wait for none of another's: some files more than are wanted are looked at, since others may have those.
 * The tenants come one by one from the index, which is short work also where one of them has many files. Materialized: a plan that asked
 * again for each row would claim more than the limit.
 */
const CLAIM = prepared<
  readonly [most: number, now: number, until: number, heldOwners: readonly string[], heldStores: readonly string[]],
  FileRow &
    WaitingFile & { readonly owner: string; readonly tenant: string; readonly attempt: number; readonly tries: number }
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
  RETURNING ${fileColumns(POSTGRES.number, 'f.')}, f.owner, f.tenant, f.attempt::float8 AS attempt, f.tries, claims.turn::float8 AS turn,
    claims.served::float8 AS served, f.place::float8 AS place`,
);

/** Forgets documents: nothing finds them any more, and the purge frees their chunks. */
export function discard<Values extends readonly unknown[]>(name: string, which: string): Statement<Values, unknown> {
  return prepared(
    name,
    `WITH gone AS (DELETE FROM antiphon.vector_documents WHERE ${which} RETURNING document)
    INSERT INTO antiphon.vector_garbage SELECT document FROM gone RETURNING 1`,
  );
}

const DISCARD_STORE = discard<ById>('discard_vector_store', 'owner = $1 AND store_id = $2');

const DISCARD_FILES = discard<readonly [...ById, fileIds: readonly string[]]>(
  'discard_store_files',
  'owner = $1 AND store_id = $2 AND file_id = ANY ($3::text[])',
);

const DROP_ORPHANS = discard<readonly [now: number]>(
  'drop_orphan_documents',
  `document IN (${orphanDocuments(POSTGRES)})`,
);

/** What PostgreSQL does its own way with vector stores. */
export class PostgresVectorStores extends SqlVectorStores {
  constructor(now: () => number) {
    super(POSTGRES, STATEMENTS, OWNERS_BY_KEY, now);
  }

  override *claim(most: number, now: number, until: number, heldBack: readonly HeldStore[] = []) {
    const held = [heldBack.map(({ tenant }) => toKey(tenant)), heldBack.map(({ storeId }) => toKey(storeId))] as const;
    const rows = yield* rowsOf(once(CLAIM), [most, now, until, ...held]);
    return inTurn(rows).flatMap(({ owner, tenant: name, attempt, tries, ...row }) => {
      const record = `the tenant of /v1/vector_stores/${row.store_id}/files/${row.id}`;
      // Mostly the key is the name. A file of nobody is left: the others are claimed.
      const tenant = isDigest(owner) ? readable('?', () => readTenant(name, record)) : (owner as Tenant);
      return tenant === undefined ? [] : [{ ...readWaiting(row), tenant, attempt, tries }];
    });
  }

  protected override insert(key: ById, tenant: Tenant, columns: StoreColumns): Steps<unknown> {
    return rowsOf(INSERT, [...key, JSON.stringify(tenant), ...columns]);
  }

  protected override insertFile(key: ByFile, tenant: Tenant, columns: FileColumns): Steps<unknown> {
    return rowsOf(INSERT_FILE, [...key, JSON.stringify(tenant), ...columns]);
  }

  protected override discardStore(key: ById): Steps<unknown> {
    return rowsOf(DISCARD_STORE, key);
  }

  protected override discardFiles(key: ById, fileIds: readonly string[]): Steps<unknown> {
    return rowsOf(DISCARD_FILES, [...key, fileIds]);
  }

  protected override *dropOrphans(now: number): Steps<boolean> {
    return (yield* rowsOf(DROP_ORPHANS, [now])).length > 0;
  }
}
