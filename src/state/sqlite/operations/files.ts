import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../../access/index.js';
import { BOOKMARK_MS } from '../../bookmark.js';
import type {
  EndedFile,
  FilePage,
  FilePiece,
  FileQuota,
  FileRecord,
  FileUsage,
  StoredObject,
  UploadRecord,
} from '../../file-store.js';
import { toKey } from '../../keys.js';
import type { Page } from '../../page.js';
import { draftStatements, type FileRefusal, objectPlan } from './objects.js';
import { tenantNumbers } from './tenants.js';

/** Pieces that one purge frees at most, and files that it forgets; files in a batch of those that have ended. */
const BATCH = 64;

/** What stands for an expiry that never comes. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** What a list can go on behind: a file, also for a while after its end. */
const CURSOR_KINDS: ReadonlySet<unknown> = new Set(['file', 'ended']);

type Row = Readonly<Record<string, unknown>>;

/** Files, and what becomes one. Times are ms since the epoch. `content` numbers a draft, a part or a file. */
export function fileOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const find = database.prepare('SELECT * FROM files WHERE owner = ? AND id = ?');
  const { insert, grow, isFull, used, append } = draftStatements(database);
  const { drop: dropObject } = objectPlan(database);
  const show = database.prepare(
    `UPDATE files SET kind = 'file', created_at = ?, expires_at = ?, purpose = ?, about = ? WHERE content = ?`,
  );
  const expire = database.prepare(
    `UPDATE files SET expires_at = ?3 WHERE owner = ?1 AND id = ?2 AND kind = ?4 AND expires_at > ?3`,
  );
  const selectPiece = database.prepare(
    `SELECT p.bytes, p.object, p.length FROM files f JOIN file_places l ON l.content = f.content JOIN file_pieces p ON p.piece = l.piece
    WHERE f.owner = ? AND f.id = ? AND f.expires_at > ? AND l.position = ?`,
  );
  const owners = database.prepare(
    `SELECT name FROM tenants WHERE owner IN (SELECT owner FROM files WHERE kind = 'file' AND expires_at > ?)`,
  );
  const addUpload = database.prepare(
    'INSERT OR IGNORE INTO file_uploads (owner, id, expires_at, about) VALUES (?, ?, ?, ?)',
  );
  const findUpload = database.prepare('SELECT about FROM file_uploads WHERE owner = ? AND id = ? AND expires_at > ?');
  const changeUpload = database.prepare('UPDATE file_uploads SET about = ? WHERE owner = ? AND id = ?');
  const toPart = database.prepare(
    `UPDATE files SET kind = 'part', upload_id = ?, expires_at = ? WHERE owner = ? AND id = ? AND kind = 'draft'`,
  );
  const selectParts = database.prepare(
    `SELECT content, id, bytes FROM files WHERE owner = ? AND upload_id = ? AND kind = 'part' AND expires_at > ?`,
  );
  const dropParts = database.prepare(
    `UPDATE files SET expires_at = 0 WHERE owner = ? AND upload_id = ? AND kind = 'part'`,
  );
  const join = database.prepare('UPDATE file_places SET content = ?, position = position + ? WHERE content = ?');
  const countPlaces = database.prepare('SELECT count(*) AS count FROM file_places WHERE content = ?');
  const ended = database.prepare(
    `SELECT (SELECT name FROM tenants t WHERE t.owner = f.owner) AS name, f.about FROM files f
    WHERE f.kind = 'file' AND f.expires_at <= ? ORDER BY f.expires_at LIMIT ${BATCH}`,
  );
  const letGo = database.prepare(
    `UPDATE files SET kind = 'ended' WHERE owner = ? AND id = ? AND kind = 'file' AND expires_at <= ?`,
  );
  const putBack = database.prepare(
    `UPDATE files SET expires_at = ?3 WHERE owner = ?1 AND id = ?2 AND kind = 'file' AND expires_at <= ?3`,
  );
  const expired = database.prepare(
    `SELECT l.content, l.position, l.piece FROM files f JOIN file_places l ON l.content = f.content
    WHERE f.expires_at <= ? AND f.kind <> 'file' LIMIT ${BATCH}`,
  );
  const unplace = database.prepare('DELETE FROM file_places WHERE content = ? AND position = ?');
  const release = database.prepare('UPDATE file_pieces SET uses = uses - 1 WHERE piece = ? RETURNING uses');
  const removePiece = database.prepare('DELETE FROM file_pieces WHERE piece = ? RETURNING object');
  const forget = database.prepare(
    `DELETE FROM files WHERE content IN (SELECT content FROM files
      WHERE expires_at <= ?1 AND kind <> 'file' AND (kind <> 'ended' OR expires_at <= ?2) LIMIT ${BATCH})`,
  );
  const forgetUploads = database.prepare(
    `DELETE FROM file_uploads WHERE (owner, id) IN (SELECT owner, id FROM file_uploads WHERE expires_at <= ? LIMIT ${BATCH})`,
  );

  const upload = (tenant: string, id: string, now: number): UploadRecord | undefined => {
    const row = findUpload.get(tenants.find(tenant), toKey(id), now);
    return row && (JSON.parse(String(row['about'])) as UploadRecord);
  };
  const toFile = (content: number, record: FileRecord): void => {
    const { createdAt, expiresAt, purpose } = record;
    show.run(createdAt, expiresAt ?? NEVER, purpose, JSON.stringify(record), content);
  };

  return {
    appendToDraft: (
      tenant: string,
      id: string,
      piece: FilePiece,
      expiresAt: number,
      quota: FileQuota,
      now: number,
    ): FileRefusal | undefined => {
      const owner = tenants.findOrCreate(tenant);
      const { length } = piece.bytes;
      const refusal = isFull(owner, { bytes: length, files: 0 }, quota, now);
      if (refusal === undefined) append(owner, id, { ...piece, length, object: null }, expiresAt);
      return refusal;
    },

    commitFile: (tenant: string, record: FileRecord, quota: FileQuota, now: number): FileRefusal | undefined => {
      const owner = tenants.findOrCreate(tenant);
      const id = toKey(record.id);
      if (record.bytes === 0) insert.run(owner, id);
      const row = find.get(owner, id);
      if (Number(row?.['bytes']) !== record.bytes) return 'no draft';
      const refusal = isFull(owner, { bytes: 0, files: 1 }, quota, now);
      if (refusal === undefined) toFile(Number(row?.['content']), record);
      return refusal;
    },

    getFile: (tenant: string, id: string, now: number): FileRecord | undefined => {
      const row = find.get(tenants.find(tenant), toKey(id));
      return row?.['kind'] === 'file' && Number(row['expires_at']) > now ? toRecord(row) : undefined;
    },

    listFiles: (tenant: string, page: FilePage, now: number): Page<FileRecord> | 'unknown cursor' => {
      const { limit, order, after, purpose } = page;
      const owner = tenants.find(tenant);
      const cursor = after === undefined ? undefined : find.get(owner, toKey(after));
      if (after !== undefined && !CURSOR_KINDS.has(cursor?.['kind'])) return 'unknown cursor';
      const [sign, direction] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
      const select = database.prepare(
        `SELECT about FROM files WHERE owner = ?1 AND kind = 'file' AND expires_at > ?2 AND (?3 IS NULL OR purpose = ?3)
          ${cursor === undefined ? '' : `AND (created_at, id) ${sign} (?4, ?5)`}
        ORDER BY created_at ${direction}, id ${direction} LIMIT ${limit + 1}`,
      );
      const place = cursor === undefined ? [] : [Number(cursor['created_at']), String(cursor['id'])];
      const rows = select.all(owner, now, purpose ?? null, ...place);
      return { data: rows.slice(0, limit).map(toRecord), hasMore: rows.length > limit };
    },

    deleteFile: (tenant: string, id: string, now: number): boolean =>
      expire.run(tenants.find(tenant), toKey(id), now, 'file').changes > 0,

    discardDraft: (tenant: string, id: string, now: number): void =>
      void expire.run(tenants.find(tenant), toKey(id), now, 'draft'),

    filePiece: (tenant: string, id: string, position: number, now: number): Uint8Array | StoredObject | undefined => {
      const row = selectPiece.get(tenants.find(tenant), toKey(id), now, position);
      const object = row?.['object'];
      if (typeof object === 'string') return { object, length: Number(row?.['length']) };
      return row?.['bytes'] as Uint8Array | undefined;
    },

    fileUsage: (tenant: string, now: number): FileUsage => used(tenants.find(tenant), now),

    fileTenants: (now: number): readonly Tenant[] =>
      owners.all(now).map(({ name }) => JSON.parse(String(name)) as Tenant),

    createUpload: (tenant: string, record: UploadRecord, quota: FileQuota, now: number): FileRefusal | undefined => {
      const owner = tenants.findOrCreate(tenant);
      const refusal = isFull(owner, { bytes: record.bytes, files: 1 }, quota, now);
      if (refusal === undefined) addUpload.run(owner, toKey(record.id), record.expiresAt, JSON.stringify(record));
      return refusal;
    },

    findUpload: upload,

    addPart: (tenant: string, uploadId: string, partId: string, now: number): boolean | 'no draft' => {
      const found = upload(tenant, uploadId, now);
      if (found?.status !== 'pending') return false;
      const part = [tenants.find(tenant), toKey(partId)] as const;
      return toPart.run(toKey(uploadId), found.expiresAt, ...part).changes > 0 || 'no draft';
    },

    findParts: (tenant: string, uploadId: string, now: number): ReadonlyMap<string, number> =>
      new Map(
        selectParts
          .all(tenants.find(tenant), toKey(uploadId), now)
          .map((row) => [String(row['id']), Number(row['bytes'])]),
      ),

    completeUpload: (
      tenant: string,
      uploadId: string,
      partIds: readonly string[],
      record: FileRecord,
      quota: FileQuota,
      now: number,
    ): FileRefusal | boolean => {
      const found = upload(tenant, uploadId, now);
      if (found?.status !== 'pending') return false;
      const owner = tenants.find(tenant);
      const rows = selectParts.all(owner, toKey(uploadId), now);
      const parts = new Map(rows.map((row) => [String(row['id']), row]));
      const joined = partIds.map((id) => parts.get(toKey(id)));
      const bytes = joined.reduce((total, part) => total + Number(part?.['bytes']), 0);
      if (bytes !== record.bytes) return false;
      // Its parts and itself count already.
      const refusal = isFull(owner, { bytes: 0, files: 0 }, quota, now);
      if (refusal !== undefined) return refusal;
      insert.run(owner, toKey(record.id));
      const content = Number(grow.get(bytes, 0, owner, toKey(record.id))?.['content']);
      let position = 0;
      for (const part of joined) {
        const from = Number(part?.['content']);
        const count = Number(countPlaces.get(from)?.['count']);
        join.run(content, position, from);
        position += count;
      }
      toFile(content, record);
      dropParts.run(owner, toKey(uploadId));
      changeUpload.run(JSON.stringify({ ...found, status: 'completed', file: record }), owner, toKey(uploadId));
      return true;
    },

    cancelUpload: (tenant: string, uploadId: string, now: number): boolean => {
      const found = upload(tenant, uploadId, now);
      if (found?.status !== 'pending') return false;
      const owner = tenants.find(tenant);
      changeUpload.run(JSON.stringify({ ...found, status: 'cancelled' }), owner, toKey(uploadId));
      dropParts.run(owner, toKey(uploadId));
      return true;
    },

    endedFiles: (now: number): readonly EndedFile[] =>
      ended.all(now).map((row) => ({ tenant: JSON.parse(String(row['name'])) as Tenant, id: toRecord(row).id })),

    releaseFile: ({ tenant, id }: EndedFile, now: number): void => void letGo.run(tenants.find(tenant), toKey(id), now),

    postponeFile: ({ tenant, id }: EndedFile, now: number): void =>
      void putBack.run(tenants.find(tenant), toKey(id), now),

    purgeFiles: (now: number): boolean => {
      const places = expired.all(now);
      for (const { content, position, piece } of places as { content: number; position: number; piece: number }[]) {
        unplace.run(content, position);
        if (Number(release.get(piece)?.['uses']) > 0) continue;
        const object = removePiece.get(piece)?.['object'];
        if (typeof object === 'string') dropObject(object);
      }
      if (places.length > 0) return true;
      const files = Number(forget.run(now, now - BOOKMARK_MS).changes);
      return files === BATCH || Number(forgetUploads.run(now).changes) === BATCH;
    },
  };
}

function toRecord(row: Row): FileRecord {
  return JSON.parse(String(row['about'])) as FileRecord;
}
