import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import { toKey } from '../keys.js';
import { readTenant } from '../read-record.js';
import { readable } from '../readable-page.js';
import { type Owner, SQLITE } from '../sql/dialect.js';
import { adHoc } from '../sql/statement.js';
import {
  type ByFile,
  type ById,
  fileColumns,
  type FileRow,
  orphanDocuments,
  vectorStoreStatements,
  WAITS,
} from '../sql/statements/vector-stores.js';
import { immediate, rowOf, rowsOf, type Steps } from '../sql/steps.js';
import { type FileColumns, SqlVectorStores, type StoreColumns, VECTOR_STORE_MODES } from '../sql/vector-stores.js';
import { type ClaimedFile, type HeldStore, inTurn, type WaitingFile } from '../vector-stores.js';
import { readWaiting } from '../sql/stored-vector-stores.js';
import { tenantNumbers } from './statements/visible.js';
import { statementRunner } from './run-statements.js';

const SHARED = vectorStoreStatements(
  SQLITE,
  'SELECT name AS tenant FROM tenants WHERE owner IN (SELECT owner FROM vector_stores WHERE gone_at IS NULL)',
);

const STATEMENTS = {
  ...SHARED,
  insert: adHoc<readonly [...ById, ...StoreColumns], never>(
    'INSERT INTO vector_stores (owner, id, created_at, expires_at, about) VALUES ($1, $2, $3, $4, $5)',
  ),
  served: adHoc<ByFile, { readonly served: number }>(
    'SELECT served FROM vector_store_files WHERE owner = $1 AND store_id = $2 AND id = $3',
  ),
  replace: adHoc<ByFile, never>('DELETE FROM vector_store_files WHERE owner = $1 AND store_id = $2 AND id = $3'),
  insertFile: adHoc<readonly [...ByFile, ...FileColumns, served: number], never>(
    `INSERT INTO vector_store_files
      (owner, store_id, id, created_at, batch_id, status, bytes, about, unfound_at, served, attempt, claimed_until)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)`,
  ),
  nextWaiting: adHoc<readonly [after: Owner], { readonly owner: number; readonly tenant: string }>(
    `SELECT owner, (SELECT name FROM tenants t WHERE t.owner = f.owner) AS tenant FROM vector_store_files f
    WHERE ${WAITS} AND owner > $1 ORDER BY owner LIMIT 1`,
  ),
  lastServed: adHoc<readonly [owner: Owner], { readonly served: number }>(
    'SELECT max(served) AS served FROM vector_store_files WHERE owner = $1',
  ),
  waiting: adHoc<
    readonly [owner: Owner, now: number, held: readonly string[], most: number],
    FileRow & { readonly place: number }
  >(
    `SELECT place, ${fileColumns(SQLITE.number)} FROM vector_store_files
    WHERE ${WAITS} AND owner = $1 AND claimed_until <= $2 AND NOT ${SQLITE.isIn('store_id', '$3')}
    ORDER BY place LIMIT $4`,
  ),
  nextAttempt: adHoc<readonly [], { readonly attempt: number }>(
    'UPDATE vector_store_claims SET last = last + 1 RETURNING last AS attempt',
  ),
  claim: adHoc<readonly [attempt: number, until: number, place: number], { readonly tries: number }>(
    `UPDATE vector_store_files SET attempt = $1, served = $1, tries = tries + 1, claimed_until = $2, reserved = 0
    WHERE place = $3 RETURNING tries`,
  ),
  release: adHoc<readonly [], never>(`UPDATE vector_store_files SET claimed_until = 0 WHERE ${WAITS}`),
  orphans: adHoc<readonly [now: number], { readonly document: number }>(orphanDocuments(SQLITE)),
};

/** Forgets documents: nothing finds them any more, and the purge of the index frees their chunks. */
function discarding<Values extends readonly unknown[]>(which: string) {
  return {
    keep: adHoc<Values, never>(`INSERT INTO vector_garbage SELECT document FROM vector_documents WHERE ${which}`),
    forget: adHoc<Values, never>(`DELETE FROM vector_documents WHERE ${which}`),
  };
}

const DISCARD_STORE = discarding<ById>('owner = $1 AND store_id = $2');
const DISCARD_FILES = discarding<readonly [...ById, fileIds: readonly string[]]>(
  `owner = $1 AND store_id = $2 AND ${SQLITE.isIn('file_id', '$3')}`,
);
/** Also for the index, which forgets what was written in vain, and what was replaced. */
export const DISCARD_DOCUMENTS = discarding<readonly [documents: readonly number[]]>(SQLITE.isIn('document', '$1'));

/** What SQLite does its own way with vector stores. */
class SqliteVectorStores extends SqlVectorStores {
  override *claim(most: number, now: number, until: number, heldBack: readonly HeldStore[] = []) {
    const lines: (WaitingFile & FileRow & { readonly tenant: Tenant })[] = [];
    for (let row = yield* rowOf(STATEMENTS.nextWaiting, [-1]); row !== undefined;) {
      const { owner } = row;
      const name = row.tenant;
      const tenant = readable('?', () => readTenant(name, `the tenant ${owner} of vector stores`));
      row = yield* rowOf(STATEMENTS.nextWaiting, [owner]);
      if (tenant === undefined) continue;
      const served = (yield* rowOf(STATEMENTS.lastServed, [owner]))?.served ?? 0;
      const held = heldBack.flatMap((each) => (each.tenant === tenant ? [toKey(each.storeId)] : []));
      const files = yield* rowsOf(STATEMENTS.waiting, [owner, now, held, most]);
      lines.push(...files.map((file, turn) => ({ ...file, turn, served, tenant })));
    }
    const claimed: ClaimedFile[] = [];
    for (const { place, tenant, ...row } of inTurn(lines).slice(0, most)) {
      const { attempt = 0 } = (yield* rowOf(STATEMENTS.nextAttempt, [])) ?? {};
      const { tries = 0 } = (yield* rowOf(STATEMENTS.claim, [attempt, until, place])) ?? {};
      claimed.push({ ...readWaiting(row), tenant, attempt, tries });
    }
    return claimed;
  }

  protected override insert(key: ById, _: Tenant, columns: StoreColumns): Steps<unknown> {
    return rowsOf(STATEMENTS.insert, [...key, ...columns]);
  }

  protected override *insertFile(key: ByFile, _: Tenant, columns: FileColumns): Steps<void> {
    const { served = 0 } = (yield* rowOf(STATEMENTS.served, key)) ?? {};
    yield* rowsOf(STATEMENTS.replace, key);
    yield* rowsOf(STATEMENTS.insertFile, [...key, ...columns, served]);
  }

  protected override *discardStore(key: ById): Steps<void> {
    yield* rowsOf(DISCARD_STORE.keep, key);
    yield* rowsOf(DISCARD_STORE.forget, key);
  }

  protected override *discardFiles(key: ById, fileIds: readonly string[]): Steps<void> {
    yield* rowsOf(DISCARD_FILES.keep, [...key, fileIds]);
    yield* rowsOf(DISCARD_FILES.forget, [...key, fileIds]);
  }

  protected override *dropOrphans(now: number): Steps<boolean> {
    const documents = (yield* rowsOf(STATEMENTS.orphans, [now])).map(({ document }) => document);
    yield* rowsOf(DISCARD_DOCUMENTS.keep, [documents]);
    yield* rowsOf(DISCARD_DOCUMENTS.forget, [documents]);
    return documents.length > 0;
  }
}

/** Vector stores in SQLite. */
export function sqliteVectorStores(database: DatabaseSync, now: () => number) {
  const run = statementRunner(database, [
    ...Object.values(STATEMENTS),
    ...Object.values(DISCARD_STORE),
    ...Object.values(DISCARD_FILES),
    ...Object.values(DISCARD_DOCUMENTS),
  ]);
  const stores = new SqliteVectorStores(SQLITE, SHARED, tenantNumbers(database), now);
  return {
    ...immediate(stores, VECTOR_STORE_MODES, run),

    /** Ends the claims of the process before: no other one can have the file of the database. */
    start: (): void => void run(STATEMENTS.release, []),
  };
}
