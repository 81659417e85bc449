import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import type { FileRecord, ObjectRecords, PiecePlace } from '../file-store.js';
import { toKey } from '../keys.js';
import { readTenant } from '../read-record.js';
import { readable } from '../readable-page.js';
import { type Owner, SQLITE } from '../sql/dialect.js';
import {
  type AppendKnown,
  type AppendObject,
  type AppendPiece,
  FILE_MODES,
  type FileMethods,
  OBJECT_MODES,
  SqlFiles,
  SqlObjects,
} from '../sql/files.js';
import { adHoc, type AnyStatement } from '../sql/statement.js';
import {
  type ById,
  type Content,
  type EndedRow,
  FILE_BATCH,
  fileStatements,
  objectStatements,
} from '../sql/statements/files.js';
import { immediate, rowOf, rowsOf, type Steps } from '../sql/steps.js';
import type { Executed } from './executed.js';
import { tenantNumbers } from './statements/visible.js';
import { statementRunner } from './run-statements.js';

const FILES = fileStatements(SQLITE, '(SELECT name FROM tenants t WHERE t.owner = f.owner)');

const OBJECTS = objectStatements(
  SQLITE,
  `SELECT p.bytes, p.object, p.length FROM files f JOIN file_places l ON l.content = f.content JOIN file_pieces p ON p.piece = l.piece
  WHERE f.owner = $1 AND f.id = $2 AND f.expires_at > $3 AND l.position = $4`,
);

type PieceRow = { readonly piece: number; readonly object: string | null };

const OWN = {
  share: adHoc<readonly [owner: Owner, hash: string], PieceRow>(
    'UPDATE file_pieces SET uses = uses + 1 WHERE owner = $1 AND hash = $2 RETURNING piece, object',
  ),
  addPiece: adHoc<
    readonly [owner: Owner, hash: string, bytes: Uint8Array, object: string | null, length: number],
    PieceRow
  >(
    `INSERT INTO file_pieces (owner, hash, uses, bytes, object, length) VALUES ($1, $2, 1, $3, $4, $5)
    RETURNING piece, object`,
  ),
  grow: adHoc<readonly [...ById, bytes: number, expiresAt: number], { readonly content: Content }>(
    'UPDATE files SET bytes = bytes + $3, expires_at = $4 WHERE owner = $1 AND id = $2 RETURNING content',
  ),
  place: adHoc<readonly [content: Content, position: number, piece: number], never>(
    'INSERT INTO file_places (content, position, piece) VALUES ($1, $2, $3)',
  ),
  tenants: adHoc<readonly [now: number], { readonly name: string }>(
    `SELECT name FROM tenants WHERE owner IN (SELECT owner FROM files WHERE kind = 'file' AND expires_at > $1)`,
  ),
  expired: adHoc<
    readonly [now: number],
    { readonly content: Content; readonly position: number; readonly piece: number }
  >(
    `SELECT l.content, l.position, l.piece FROM files f JOIN file_places l ON l.content = f.content
    WHERE f.expires_at <= $1 AND f.kind <> 'file' LIMIT ${FILE_BATCH}`,
  ),
  unplace: adHoc<readonly [content: Content, position: number], never>(
    'DELETE FROM file_places WHERE content = $1 AND position = $2',
  ),
  releasePiece: adHoc<readonly [piece: number], { readonly uses: number }>(
    'UPDATE file_pieces SET uses = uses - 1 WHERE piece = $1 RETURNING uses',
  ),
  removePiece: adHoc<readonly [piece: number], { readonly object: string | null }>(
    'DELETE FROM file_pieces WHERE piece = $1 RETURNING object',
  ),
  forget: adHoc<readonly [now: number, before: number], unknown>(
    `DELETE FROM files WHERE content IN (SELECT content FROM files
      WHERE expires_at <= $1 AND kind <> 'file' AND (kind <> 'ended' OR expires_at <= $2) LIMIT ${FILE_BATCH}) RETURNING 1`,
  ),
  forgetUploads: adHoc<readonly [now: number], unknown>(
    `DELETE FROM file_uploads WHERE (owner, id) IN (
      SELECT owner, id FROM file_uploads WHERE expires_at <= $1 LIMIT ${FILE_BATCH}) RETURNING 1`,
  ),
};

/** A piece whose bytes are here or in an object. */
interface NewPiece extends PiecePlace {
  readonly length: number;
  readonly bytes: Uint8Array;
  readonly object: string | null;
}

/** What SQLite does its own way with pieces, and with objects of a bucket. */
class SqliteObjects extends SqlObjects {
  override *appendKnown(...[tenant, draftId, piece, expiresAt, quota]: AppendKnown): Steps<string | null | undefined> {
    yield* this.requireRoom(tenant, quota, { bytes: piece.length, files: 0 });
    return (yield* this.appendTo(tenant, draftId, piece, expiresAt))?.object;
  }

  override *append(...[tenant, draftId, piece, expiresAt, quota]: AppendObject): Steps<void> {
    const { object, length } = piece;
    yield* this.requireRoom(tenant, quota, { bytes: length, files: 0 });
    yield* this.take(object);
    const used = yield* this.appendTo(tenant, draftId, { ...piece, bytes: new Uint8Array() }, expiresAt);
    if (used?.object !== object) yield* this.plan(object, 0);
  }

  /** Appends a piece to a draft, or only one that is known; undefined where it is not. */
  *appendTo(
    tenant: Tenant,
    draftId: string,
    piece: NewPiece | (PiecePlace & { readonly length: number }),
    expiresAt: number,
  ): Steps<PieceRow | undefined> {
    const { position, hash, length } = piece;
    const owner = this.owners.findOrCreate(tenant);
    let stored = yield* rowOf(OWN.share, [owner, hash]);
    if (stored === undefined && 'bytes' in piece) {
      stored = yield* rowOf(OWN.addPiece, [owner, hash, piece.bytes, piece.object, length]);
    }
    if (stored === undefined) return undefined;
    yield* rowsOf(FILES.add, [owner, toKey(draftId)]);
    const draft = yield* rowOf(OWN.grow, [owner, toKey(draftId), length, expiresAt]);
    yield* rowsOf(OWN.place, [draft?.content ?? 0, position, stored.piece]);
    return stored;
  }
}

/** How damage in the name of a tenant is named. */
const TENANT = 'the tenant of a file';

/** What SQLite does its own way with files. */
class SqliteFiles extends SqlFiles<SqliteObjects> {
  override *append(...[tenant, draftId, piece, expiresAt, quota]: AppendPiece): Steps<void> {
    const { length } = piece.bytes;
    yield* this.objects.requireRoom(tenant, quota, { bytes: length, files: 0 });
    yield* this.objects.appendTo(tenant, draftId, { ...piece, length, object: null }, expiresAt);
  }

  override *tenants(): Steps<readonly Tenant[]> {
    return (yield* rowsOf(OWN.tenants, [this.now()])).map(({ name }) => readTenant(name, TENANT));
  }

  override *purge(): Steps<boolean> {
    const now = this.now();
    const places = yield* rowsOf(OWN.expired, [now]);
    for (const { content, position, piece } of places) {
      yield* rowsOf(OWN.unplace, [content, position]);
      const released = yield* rowOf(OWN.releasePiece, [piece]);
      if (released !== undefined && released.uses > 0) continue;
      const object = (yield* rowOf(OWN.removePiece, [piece]))?.object;
      if (typeof object === 'string') yield* this.objects.plan(object, 0);
    }
    if (places.length > 0) return true;
    if ((yield* rowsOf(OWN.forget, [now, now - BOOKMARK_MS])).length === FILE_BATCH) return true;
    return (yield* rowsOf(OWN.forgetUploads, [now])).length === FILE_BATCH;
  }

  protected override tenantOf({ about }: EndedRow): Tenant | undefined {
    return readable('?', () => readTenant(about, TENANT));
  }

  protected override toAbout(_: Tenant, record: FileRecord): string {
    return JSON.stringify(record);
  }
}

/** Files in SQLite, and their pieces in a bucket. */
export function sqliteFiles(
  database: DatabaseSync,
  now: () => number,
): { readonly files: Executed<FileMethods>; readonly objects: Executed<ObjectRecords> } {
  const tenants = tenantNumbers(database);
  const objects = new SqliteObjects(OBJECTS, tenants, now);
  const files = new SqliteFiles(SQLITE, FILES, objects, tenants, now);
  const run = statementRunner(
    database,
    [FILES, OBJECTS, OWN].flatMap((table) => Object.values<AnyStatement | null>(table)),
  );
  return { files: immediate(files, FILE_MODES, run), objects: immediate(objects, OBJECT_MODES, run) };
}
