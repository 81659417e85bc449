import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../../access/index.js';
import { toKey } from '../../keys.js';
import {
  type ClaimedFile,
  type HeldStore,
  inTurn,
  isUnfound,
  type StoreFile,
  type StoreFileOutcome,
} from '../../vector-stores.js';
import { tenantNumbers } from './tenants.js';
import { discardIn } from '../vectors.js';

type Row = Readonly<Record<string, unknown>>;

/** Claims of files in vector stores that wait to be indexed. */
export function storeFileClaimOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const nextWaiting = database.prepare(
    `SELECT owner, (SELECT name FROM tenants t WHERE t.owner = f.owner) AS name FROM vector_store_files f
    WHERE status = 'in_progress' AND gone_at IS NULL AND owner > ? ORDER BY owner LIMIT 1`,
  );
  const served = database.prepare('SELECT max(served) AS served FROM vector_store_files WHERE owner = ?');
  const waiting = database.prepare(
    `SELECT place, about FROM vector_store_files
    WHERE status = 'in_progress' AND gone_at IS NULL AND owner = ? AND claimed_until <= ?
      AND store_id NOT IN (SELECT value FROM json_each(?)) ORDER BY place LIMIT ?`,
  );
  const nextAttempt = database.prepare('UPDATE vector_store_claims SET last = last + 1 RETURNING last');
  const claim = database.prepare(
    `UPDATE vector_store_files SET attempt = ?1, served = ?1, tries = tries + 1, claimed_until = ?2, reserved = 0
    WHERE place = ?3 RETURNING tries`,
  );
  const giveBack = database.prepare(
    `UPDATE vector_store_files SET attempt = 0, tries = tries - 1, claimed_until = ?, reserved = 0
    WHERE owner = ? AND store_id = ? AND id = ?`,
  );
  const isClaimed = database.prepare(
    `SELECT about FROM vector_store_files
    WHERE owner = ? AND store_id = ? AND id = ? AND attempt = ? AND status = 'in_progress' AND gone_at IS NULL`,
  );
  const renew = database.prepare(
    'UPDATE vector_store_files SET claimed_until = ? WHERE owner = ? AND store_id = ? AND id = ?',
  );
  const release = database.prepare(
    `UPDATE vector_store_files SET claimed_until = 0 WHERE status = 'in_progress' AND gone_at IS NULL`,
  );
  const room = database.prepare(
    'SELECT bytes, reserved FROM vector_store_files WHERE owner = ? AND store_id = ? AND id = ?',
  );
  const usedBytes = database.prepare(
    'SELECT sum(max(bytes, reserved)) AS bytes FROM vector_store_files WHERE owner = ? AND gone_at IS NULL',
  );
  const reserve = database.prepare(
    'UPDATE vector_store_files SET reserved = ? WHERE owner = ? AND store_id = ? AND id = ?',
  );
  const put = storeFileWriter(database);
  const discard = discardIn(database);
  const claimed = ({ tenant, storeId, fileId, attempt }: ClaimedFile): StoreFile | undefined =>
    one(isClaimed.get(tenants.find(tenant), toKey(storeId), toKey(fileId), attempt), toFile);

  return {
    claimStoreFiles: (
      most: number,
      now: number,
      until: number,
      heldBack: readonly HeldStore[],
    ): readonly ClaimedFile[] => {
      const lines = [];
      for (let row = nextWaiting.get(-1); row !== undefined; row = nextWaiting.get(Number(row['owner']))) {
        const [owner, tenant] = [Number(row['owner']), JSON.parse(String(row['name'])) as Tenant];
        const last = Number(served.get(owner)?.['served']);
        const held = heldBack.flatMap((each) => (each.tenant === tenant ? [toKey(each.storeId)] : []));
        const files = waiting.all(owner, now, JSON.stringify(held), most);
        lines.push(...files.map((file, turn) => ({ turn, served: last, place: Number(file['place']), tenant, file })));
      }
      return inTurn(lines)
        .slice(0, most)
        .map(({ place, tenant, file }) => {
          const attempt = Number(nextAttempt.get()?.['last']);
          const tries = Number(claim.get(attempt, until, place)?.['tries']);
          return { ...toFile(file), tenant, attempt, tries };
        });
    },

    releaseStoreFiles: (): void => void release.run(),

    reserveStoreFile: (file: ClaimedFile, bytes: number, most: number): 'reserved' | 'full' | 'lost' => {
      if (claimed(file) === undefined) return 'lost';
      const key = [tenants.find(file.tenant), toKey(file.storeId), toKey(file.fileId)] as const;
      const row = room.get(...key);
      const before = Number(row?.['bytes']);
      const others = Number(usedBytes.get(key[0])?.['bytes']) - Math.max(before, Number(row?.['reserved']));
      if (others + Math.max(before, bytes) > most) return 'full';
      reserve.run(bytes, ...key);
      return 'reserved';
    },

    renewStoreFile: (file: ClaimedFile, until: number): boolean => {
      if (claimed(file) === undefined) return false;
      renew.run(until, tenants.find(file.tenant), toKey(file.storeId), toKey(file.fileId));
      return true;
    },

    giveBackStoreFile: (file: ClaimedFile, notBefore: number): boolean => {
      if (claimed(file) === undefined) return false;
      giveBack.run(notBefore, tenants.find(file.tenant), toKey(file.storeId), toKey(file.fileId));
      return true;
    },

    settleStoreFile: (file: ClaimedFile, outcome: StoreFileOutcome, now: number): boolean => {
      const { tenant, storeId, fileId } = file;
      const current = claimed(file);
      if (current === undefined) return false;
      put(tenant, { ...current, ...outcome }, now);
      if (isUnfound(outcome)) discard.file(tenants.find(tenant), toKey(storeId), toKey(fileId));
      return true;
    },
  };
}

/** Documents that one purge forgets at most. */
const ORPHANS = 256;

/** Forgets documents that nobody can find any more. */
export function orphanOperations(database: DatabaseSync) {
  const discard = discardIn(database);
  const orphans = database.prepare(
    `SELECT d.document FROM vector_stores s JOIN vector_documents d ON d.owner = s.owner AND d.store_id = s.id
    WHERE s.gone_at IS NOT NULL
    UNION ALL
    SELECT d.document FROM vector_stores s JOIN vector_documents d ON d.owner = s.owner AND d.store_id = s.id
    WHERE s.expires_at <= ?
    UNION ALL
    SELECT d.document FROM vector_store_files f
    JOIN vector_documents d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id
    WHERE f.gone_at IS NOT NULL
    UNION ALL
    SELECT d.document FROM vector_store_files f
    JOIN vector_documents d ON d.owner = f.owner AND d.store_id = f.store_id AND d.file_id = f.id
    WHERE f.unfound_at IS NOT NULL LIMIT ${ORPHANS}`,
  );

  return {
    /**
     * Forgets what was written of stores and files after their documents were forgotten, and the documents of stores that have expired; whether
     * there may be more. Those that ended more than BOOKMARK_MS ago are looked at no more.
     */
    dropOrphans: (now: number): boolean => {
      const found = orphans.all(now);
      for (const row of found) discard.document(Number(row['document']));
      return found.length > 0;
    },
  };
}

/** What writes a file that is there. */
export function storeFileWriter(database: DatabaseSync): (tenant: string, file: StoreFile, now: number) => void {
  const tenants = tenantNumbers(database);
  const write = database.prepare(
    `UPDATE vector_store_files SET status = ?1, bytes = ?2, about = ?3, unfound_at = ?4,
      reserved = CASE WHEN ?1 = 'in_progress' THEN reserved ELSE 0 END
    WHERE owner = ?5 AND store_id = ?6 AND id = ?7`,
  );
  return (tenant, file, now) => {
    const { storeId, fileId, status, bytes } = file;
    const values = [status, bytes, JSON.stringify(file), isUnfound(file) ? now : null] as const;
    write.run(...values, tenants.find(tenant), toKey(storeId), toKey(fileId));
  };
}

/** Reads a row, if there is one. */
export function one<T>(row: Row | undefined, read: (row: Row) => T): T | undefined {
  return row && read(row);
}

/** The file of a row. */
export function toFile({ about }: Row): StoreFile {
  return JSON.parse(String(about)) as StoreFile;
}
