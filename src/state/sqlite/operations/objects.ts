import type { DatabaseSync } from 'node:sqlite';

import type { FileQuota, FileUsage, PiecePlace, StoredObject } from '../../file-store.js';
import { toKey } from '../../keys.js';
import { tenantNumbers } from './tenants.js';

/** Objects in a batch of those that are due. */
const BATCH = 64;

/** Why a file is not stored. */
export type FileRefusal = 'bytes' | 'files' | 'no draft';

/** A piece whose bytes are here or in an object. */
interface NewPiece extends PiecePlace {
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly object: string | null;
}

/** What drafts grow by, and how much a tenant has. */
export function draftStatements(database: DatabaseSync) {
  const insert = database.prepare(
    `INSERT INTO files (owner, id, kind, created_at, expires_at, bytes) VALUES (?, ?, 'draft', 0, 0, 0)
    ON CONFLICT DO NOTHING`,
  );
  const grow = database.prepare(
    'UPDATE files SET bytes = bytes + ?, expires_at = ? WHERE owner = ? AND id = ? RETURNING content',
  );
  const sharePiece = database.prepare(
    'UPDATE file_pieces SET uses = uses + 1 WHERE owner = ? AND hash = ? RETURNING piece, object',
  );
  const addPiece = database.prepare(
    'INSERT INTO file_pieces (owner, hash, uses, bytes, object, length) VALUES (?, ?, 1, ?, ?, ?) RETURNING piece, object',
  );
  const place = database.prepare('INSERT INTO file_places (content, position, piece) VALUES (?, ?, ?)');
  const sum = database.prepare(
    `SELECT coalesce(sum(bytes), 0) AS bytes, count(*) FILTER (WHERE kind = 'file') + (
      SELECT count(*) FROM file_uploads WHERE owner = ?1 AND expires_at > ?2 AND about ->> '$.status' = 'pending'
    ) AS files FROM files WHERE owner = ?1 AND expires_at > ?2`,
  );

  const used = (owner: number, now: number): FileUsage => {
    const row = sum.get(owner, now);
    return { bytes: Number(row?.['bytes']), files: Number(row?.['files']) };
  };

  return {
    insert,
    grow,
    used,

    isFull: (owner: number, added: FileUsage, quota: FileQuota, now: number): FileRefusal | undefined => {
      const { bytes, files } = used(owner, now);
      if (bytes + added.bytes > quota.bytes) return 'bytes';
      return files + added.files > quota.files ? 'files' : undefined;
    },

    /** Appends a piece, or only one that is known. Gives the object of the piece, and undefined where it is not known. */
    append: (
      owner: number,
      id: string,
      piece: NewPiece | (PiecePlace & { readonly length: number }),
      expiresAt: number,
    ): string | null | undefined => {
      const { position, hash, length } = piece;
      const known = sharePiece.get(owner, hash);
      if (known === undefined && !('bytes' in piece)) return undefined;
      const stored = known ?? ('bytes' in piece ? addPiece.get(owner, hash, piece.bytes, piece.object, length) : known);
      insert.run(owner, toKey(id));
      const content = Number(grow.get(length, expiresAt, owner, toKey(id))?.['content']);
      place.run(content, position, Number(stored?.['piece']));
      return stored?.['object'] as string | null;
    },
  };
}

/** Objects that no piece has. */
export function objectPlan(database: DatabaseSync) {
  const plan = database.prepare('INSERT INTO file_objects (name, due_at) VALUES (?, ?)');
  return {
    plan: (object: string, dueAt: number): void => void plan.run(object, dueAt),
    /** Lets an object be deleted, which no piece can have any more. */
    drop: (object: string): void => void plan.run(object, 0),
  };
}

/** Pieces whose bytes are in a bucket. Times are ms since the epoch. */
export function objectOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const { isFull, append } = draftStatements(database);
  const { plan, drop } = objectPlan(database);
  const take = database.prepare('DELETE FROM file_objects WHERE name = ? AND due_at > 0');
  const replace = database.prepare('UPDATE file_pieces SET object = ? WHERE owner = ? AND hash = ? AND object = ?');
  const findDue = database.prepare(
    `UPDATE file_objects SET due_at = -?1 WHERE name IN (
      SELECT name FROM file_objects WHERE due_at <= ?1 ORDER BY due_at DESC LIMIT ${BATCH}
    ) RETURNING name`,
  );
  const forget = database.prepare('DELETE FROM file_objects WHERE name = ?');

  return {
    planObject: plan,

    appendKnownPiece: (
      tenant: string,
      draftId: string,
      piece: PiecePlace & { readonly length: number },
      expiresAt: number,
      quota: FileQuota,
      now: number,
    ): { readonly refusal: FileRefusal } | { readonly object: string | null } | undefined => {
      const owner = tenants.findOrCreate(tenant);
      const refusal = isFull(owner, { bytes: piece.length, files: 0 }, quota, now);
      if (refusal !== undefined) return { refusal };
      const object = append(owner, draftId, piece, expiresAt);
      return object === undefined ? undefined : { object };
    },

    appendObject: (
      tenant: string,
      draftId: string,
      piece: PiecePlace & StoredObject,
      expiresAt: number,
      quota: FileQuota,
      now: number,
    ): FileRefusal | 'too late' | undefined => {
      const owner = tenants.findOrCreate(tenant);
      const refusal = isFull(owner, { bytes: piece.length, files: 0 }, quota, now);
      if (refusal !== undefined) return refusal;
      if (take.run(piece.object).changes === 0) return 'too late';
      const used = append(owner, draftId, { ...piece, bytes: new Uint8Array() }, expiresAt);
      if (used !== piece.object) drop(piece.object);
      return undefined;
    },

    replaceObject: (tenant: string, hash: string, lost: string, object: string): 'too late' | undefined => {
      if (take.run(object).changes === 0) return 'too late';
      const isReplaced = replace.run(object, tenants.find(tenant), hash, lost).changes > 0;
      drop(isReplaced ? lost : object);
      return undefined;
    },

    dueObjects: (now: number): readonly string[] => findDue.all(now).map(({ name }) => String(name)),

    forgetObjects: (objects: readonly string[]): void => {
      for (const object of objects) forget.run(object);
    },
  };
}
