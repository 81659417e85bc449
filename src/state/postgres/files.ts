import type { Tenant } from '../../access/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import type { FileRecord, FileStore, ObjectRecords, PiecePlace } from '../file-store.js';
import { isDigest, toKey } from '../keys.js';
import { readRecord } from '../read-record.js';
import { readable } from '../readable-page.js';
import { OWNERS_BY_KEY, POSTGRES } from '../sql/dialect.js';
import {
  type About,
  type AppendKnown,
  type AppendObject,
  type AppendPiece,
  FILE_MODES,
  OBJECT_MODES,
  SqlFiles,
  SqlObjects,
  toFileStore,
} from '../sql/files.js';
import { once, prepared } from '../sql/statement.js';
import { type EndedRow, FILE_BATCH, fileStatements, objectStatements } from '../sql/statements/files.js';
import { rowOf, rowsOf, type Steps } from '../sql/steps.js';
import type { Database } from './database.js';
import { tenantOf } from './moved-rows.js';

const FILES = fileStatements(POSTGRES, 'f.about');

const OBJECTS = objectStatements(
  POSTGRES,
  `SELECT p.bytes, p.object, p.length FROM antiphon.files f
    JOIN antiphon.file_places l ON l.content = f.content
    JOIN antiphon.file_pieces p ON p.owner = l.owner AND p.hash = l.hash
  WHERE f.owner = $1 AND f.id = $2 AND f.expires_at > $3 AND l.position = $4`,
);

const NO_BYTES = new Uint8Array();

/** The next piece of a draft, and how long it is. */
type NextPiece = readonly [
  owner: string,
  id: string,
  expiresAt: number,
  position: number,
  hash: string,
  length: number,
];

/** Gives the object of the piece, which is another one where there was an equal piece. */
const APPEND = prepared<
  readonly [...NextPiece, bytes: Uint8Array, object: string | null],
  { readonly object: string | null }
>(
  'append_piece',
  `WITH draft AS (
    INSERT INTO antiphon.files AS f (owner, id, kind, created_at, expires_at, bytes)
    VALUES ($1, $2, 'draft', 0, $3, $6)
    ON CONFLICT (owner, id) DO UPDATE SET bytes = f.bytes + excluded.bytes, expires_at = excluded.expires_at
    RETURNING content
  ), piece AS (
    INSERT INTO antiphon.file_pieces AS p (owner, hash, uses, bytes, object, length)
    VALUES ($1, $5, 1, $7, $8, $6)
    ON CONFLICT (owner, hash) DO UPDATE SET uses = p.uses + 1 RETURNING p.object
  ), place AS (
    INSERT INTO antiphon.file_places (content, position, owner, hash) SELECT content, $4, $1, $5 FROM draft
  )
  SELECT object FROM piece`,
);

const APPEND_KNOWN = prepared<NextPiece, { readonly object: string | null }>(
  'append_known_piece',
  `WITH piece AS (
    UPDATE antiphon.file_pieces SET uses = uses + 1 WHERE owner = $1 AND hash = $5 RETURNING object
  ), draft AS (
    INSERT INTO antiphon.files AS f (owner, id, kind, created_at, expires_at, bytes)
    SELECT $1, $2, 'draft', 0, $3, $6 FROM piece
    ON CONFLICT (owner, id) DO UPDATE SET bytes = f.bytes + excluded.bytes, expires_at = excluded.expires_at
    RETURNING content
  ), place AS (
    INSERT INTO antiphon.file_places (content, position, owner, hash) SELECT content, $4, $1, $5 FROM draft
  )
  SELECT object FROM piece`,
);

const TENANTS = prepared<readonly [now: number], { readonly owner: string }>(
  'file_owners',
  `SELECT DISTINCT owner FROM antiphon.files WHERE kind = 'file' AND expires_at > $1`,
);

/** Rows are locked in one order, so that purges of several replicas do not wait for each other. */
const FREE = prepared<readonly [now: number], { readonly owner: string; readonly hash: string }>(
  'free_pieces',
  `WITH freed AS (
    DELETE FROM antiphon.file_places WHERE (content, position) IN (
      SELECT l.content, l.position FROM antiphon.files f JOIN antiphon.file_places l ON l.content = f.content
      WHERE f.expires_at <= $1 AND f.kind <> 'file' LIMIT ${FILE_BATCH} FOR UPDATE OF l SKIP LOCKED
    ) RETURNING owner, hash
  ), counts AS (
    SELECT owner, hash, count(*) AS count FROM freed GROUP BY owner, hash
  ), held AS (
    SELECT p.owner, p.hash FROM antiphon.file_pieces p JOIN counts USING (owner, hash)
    ORDER BY p.owner, p.hash FOR UPDATE OF p
  )
  UPDATE antiphon.file_pieces p SET uses = p.uses - c.count FROM counts c JOIN held USING (owner, hash)
  WHERE p.owner = c.owner AND p.hash = c.hash RETURNING p.owner, p.hash`,
);

const DROP_PIECES = prepared<readonly [owners: readonly string[], hashes: readonly string[]], never>(
  'drop_pieces_and_objects',
  `WITH dropped AS (
    DELETE FROM antiphon.file_pieces p USING unnest($1::text[], $2::text[]) AS gone (owner, hash)
    WHERE p.owner = gone.owner AND p.hash = gone.hash AND p.uses <= 0 RETURNING p.object
  )
  INSERT INTO antiphon.file_objects (name, due_at) SELECT object, 0 FROM dropped WHERE object IS NOT NULL`,
);

/** A content goes once it has no pieces any more: it may have been dropped behind `FREE`, and only it knows which pieces to free. */
const FORGET = prepared<readonly [now: number, before: number], { readonly count: number }>(
  'forget_files',
  `WITH files AS (
    DELETE FROM antiphon.files WHERE content IN (SELECT f.content FROM antiphon.files f
      WHERE f.expires_at <= $1 AND f.kind <> 'file' AND (f.kind <> 'ended' OR f.expires_at <= $2)
        AND NOT EXISTS (SELECT FROM antiphon.file_places l WHERE l.content = f.content)
      LIMIT ${FILE_BATCH} FOR UPDATE OF f SKIP LOCKED) RETURNING 1
  ), uploads AS (
    DELETE FROM antiphon.file_uploads WHERE (owner, id) IN (SELECT owner, id FROM antiphon.file_uploads
      WHERE expires_at <= $1 LIMIT ${FILE_BATCH} FOR UPDATE SKIP LOCKED) RETURNING 1
  )
  SELECT greatest((SELECT count(*) FROM files), (SELECT count(*) FROM uploads))::integer AS count`,
);

/** What PostgreSQL does its own way with pieces, and with objects of a bucket. */
class PostgresObjects extends SqlObjects {
  override *appendKnown(...[tenant, draftId, piece, expiresAt, quota]: AppendKnown): Steps<string | null | undefined> {
    yield* this.requireRoom(tenant, quota, { bytes: piece.length, files: 0 });
    const known = yield* rowOf(once(APPEND_KNOWN), toNext(tenant, draftId, piece, expiresAt));
    // Other pieces may have been appended at the same time.
    if (known !== undefined) yield* this.requireRoom(tenant, quota);
    return known?.object;
  }

  override *append(...[tenant, draftId, piece, expiresAt]: AppendObject): Steps<void> {
    const { object } = piece;
    yield* this.take(object);
    const stored = yield* rowOf(APPEND, [...toNext(tenant, draftId, piece, expiresAt), NO_BYTES, object]);
    if (stored?.object !== object) yield* rowsOf(this.statements.plan, [object, 0]);
  }
}

/** What PostgreSQL does its own way with files. */
class PostgresFiles extends SqlFiles {
  override *append(...[tenant, draftId, { bytes, ...place }, expiresAt, quota]: AppendPiece): Steps<void> {
    const next = toNext(tenant, draftId, { ...place, length: bytes.length }, expiresAt);
    // Not repeated: the place of the piece would be taken.
    yield* rowsOf(once(APPEND), [...next, bytes, null]);
    // Behind the piece: whoever is last sees all others, and no writer waits for another with a connection in its hands.
    yield* this.objects.requireRoom(tenant, quota);
  }

  override *tenants(): Steps<readonly Tenant[]> {
    return (yield* rowsOf(TENANTS, [this.now()])).map(({ owner }) => tenantOf(owner, null));
  }

  override *purge(): Steps<boolean> {
    const now = this.now();
    const freed = yield* rowsOf(FREE, [now]);
    if (freed.length > 0) {
      yield* rowsOf(DROP_PIECES, [freed.map(({ owner }) => owner), freed.map(({ hash }) => hash)]);
      return true;
    }
    return (yield* rowOf(FORGET, [now, now - BOOKMARK_MS]))?.count === FILE_BATCH;
  }

  protected override tenantOf({ owner, id, about }: EndedRow): Tenant | undefined {
    const key = String(owner);
    // Mostly the key is the name.
    if (!isDigest(key)) return key as Tenant;
    return readable(key, () => readRecord<About>(about, `/v1/files/${id}`))?.tenant;
  }

  protected override toAbout(tenant: Tenant, record: FileRecord): string {
    const about: About = isDigest(toKey(tenant)) ? { ...record, tenant } : record;
    return JSON.stringify(about);
  }
}

/** Files in PostgreSQL. */
export function postgresFiles(database: Database, now: () => number): FileStore & { readonly objects: ObjectRecords } {
  const steps = new PostgresObjects(OBJECTS, OWNERS_BY_KEY, now);
  const { requireRoom, ...objects } = database.contract(steps, {
    ...OBJECT_MODES,
    append: 'transaction',
    requireRoom: 'statements',
  });
  const files = database.contract(new PostgresFiles(POSTGRES, FILES, steps, OWNERS_BY_KEY, now), FILE_MODES);
  const append: ObjectRecords['append'] = async (tenant, draftId, piece, expiresAt, quota) => {
    await objects.append(tenant, draftId, piece, expiresAt, quota);
    // Behind the transaction: whoever is last sees all others.
    await requireRoom(tenant, quota);
  };
  return toFileStore(files, { ...objects, append });
}

function toNext(
  tenant: Tenant,
  draftId: string,
  { position, hash, length }: PiecePlace & { readonly length: number },
  expiresAt: number,
): NextPiece {
  return [toKey(tenant), toKey(draftId), expiresAt, position, hash, length];
}
