import type { FileUsage } from '../../file-store.js';
import { prepared } from '../../sql/statement.js';

/** Pieces that one purge frees at most, and files that it forgets; files in a batch of those that have ended. */
export const BATCH = 64;

/** A content or an upload. */
export type ById = readonly [owner: string, id: string];
/** The same, at a time in ms since the epoch. */
export type ByIdAt = readonly [owner: string, id: string, now: number];

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
export const APPEND = prepared<
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

export const APPEND_KNOWN = prepared<NextPiece, { readonly object: string | null }>(
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

export const REPLACE_OBJECT = prepared<readonly [owner: string, hash: string, lost: string, object: string], unknown>(
  'replace_object',
  'UPDATE antiphon.file_pieces SET object = $4 WHERE owner = $1 AND hash = $2 AND object = $3 RETURNING 1',
);

export const PLAN_OBJECT = prepared<readonly [name: string, dueAt: number], never>(
  'plan_object',
  'INSERT INTO antiphon.file_objects (name, due_at) VALUES ($1, $2)',
);

/** Takes an object out of the plan, unless its deletion may have begun. */
export const TAKE_OBJECT = prepared<readonly [name: string], unknown>(
  'take_object',
  'DELETE FROM antiphon.file_objects WHERE name = $1 AND due_at > 0 RETURNING 1',
);

export const DUE_OBJECTS = prepared<readonly [now: number], { readonly name: string }>(
  'due_objects',
  `UPDATE antiphon.file_objects SET due_at = -$1::bigint WHERE name IN (
    SELECT name FROM antiphon.file_objects WHERE due_at <= $1 ORDER BY due_at DESC LIMIT ${BATCH} FOR UPDATE SKIP LOCKED
  ) RETURNING name`,
);

export const FORGET_OBJECTS = prepared<readonly [names: readonly string[]], never>(
  'forget_objects',
  'DELETE FROM antiphon.file_objects WHERE name = ANY($1)',
);

export const ADD = prepared<ById, never>(
  'add_draft',
  `INSERT INTO antiphon.files (owner, id, kind, created_at, expires_at, bytes) VALUES ($1, $2, 'draft', 0, 0, 0)
  ON CONFLICT (owner, id) DO NOTHING`,
);

/** A row of the table. */
export interface FileRow {
  readonly owner: string;
  readonly content: string;
  readonly kind: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly bytes: number;
  readonly about: string | null;
}

export const FIND = prepared<ById, FileRow>(
  'find_file',
  `SELECT owner, content, kind, created_at::float8, expires_at::float8, bytes::float8, about
  FROM antiphon.files WHERE owner = $1 AND id = $2`,
);

export const SHOW = prepared<
  readonly [content: string, createdAt: number, expiresAt: number, purpose: string, about: string, bytes: number],
  never
>(
  'show_file',
  `UPDATE antiphon.files SET kind = 'file', created_at = $2, expires_at = $3, purpose = $4, about = $5, bytes = $6
  WHERE content = $1`,
);

/** Files of a tenant are committed, and uploads begun, one at a time, so that its quota holds. */
export const LOCK = prepared<readonly [owner: string], unknown>(
  'lock_files',
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon files ' || $1, 0))`,
);

/** Quotes within the strings of a JSON text are escaped: only the member itself reads as what is looked for. */
export const USED = prepared<readonly [owner: string, now: number], FileUsage>(
  'files_used',
  `SELECT coalesce(sum(bytes), 0)::float8 AS bytes, (count(*) FILTER (WHERE kind = 'file') + (
    SELECT count(*) FROM antiphon.file_uploads
    WHERE owner = $1 AND expires_at > $2 AND position('"status":"pending"' IN about) > 0
  ))::float8 AS files FROM antiphon.files WHERE owner = $1 AND expires_at > $2`,
);

export const OWNERS = prepared<readonly [now: number], { readonly owner: string }>(
  'file_owners',
  `SELECT DISTINCT owner FROM antiphon.files WHERE kind = 'file' AND expires_at > $1`,
);

export const EXPIRE = prepared<readonly [...ByIdAt, kind: string], unknown>(
  'expire_file',
  `UPDATE antiphon.files SET expires_at = $3 WHERE owner = $1 AND id = $2 AND kind = $4 AND expires_at > $3
  RETURNING 1`,
);

/** A piece: its bytes, or the object that has them. */
export interface PieceRow {
  readonly bytes: Buffer;
  readonly object: string | null;
  readonly length: number;
}

export const PIECE = prepared<readonly [...ByIdAt, position: number], PieceRow>(
  'piece_of_file',
  `SELECT p.bytes, p.object, p.length FROM antiphon.files f
    JOIN antiphon.file_places l ON l.content = f.content
    JOIN antiphon.file_pieces p ON p.owner = l.owner AND p.hash = l.hash
  WHERE f.owner = $1 AND f.id = $2 AND f.expires_at > $3 AND l.position = $4`,
);

export const ADD_UPLOAD = prepared<readonly [owner: string, id: string, expiresAt: number, about: string], never>(
  'add_upload',
  `INSERT INTO antiphon.file_uploads (owner, id, expires_at, about) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
);

export const FIND_UPLOAD = prepared<ByIdAt, { readonly about: string }>(
  'find_upload',
  'SELECT about FROM antiphon.file_uploads WHERE owner = $1 AND id = $2 AND expires_at > $3',
);

/** An upload, of which nobody else changes anything meanwhile. */
export const HOLD_UPLOAD = prepared<ByIdAt, { readonly about: string }>(
  'hold_upload',
  'SELECT about FROM antiphon.file_uploads WHERE owner = $1 AND id = $2 AND expires_at > $3 FOR UPDATE',
);

export const CHANGE_UPLOAD = prepared<readonly [owner: string, id: string, about: string], never>(
  'change_upload',
  'UPDATE antiphon.file_uploads SET about = $3 WHERE owner = $1 AND id = $2',
);

export const TO_PART = prepared<readonly [owner: string, id: string, uploadId: string, expiresAt: number], unknown>(
  'to_part',
  `UPDATE antiphon.files SET kind = 'part', upload_id = $3, expires_at = $4
  WHERE owner = $1 AND id = $2 AND kind = 'draft' RETURNING 1`,
);

/** A part of an upload. */
export interface PartRow {
  readonly content: string;
  readonly id: string;
  readonly bytes: number;
}

export const PARTS = prepared<ByIdAt, PartRow>(
  'find_parts',
  `SELECT content, id, bytes::float8 FROM antiphon.files
  WHERE owner = $1 AND upload_id = $2 AND kind = 'part' AND expires_at > $3`,
);

export const DROP_PARTS = prepared<ById, never>(
  'drop_parts',
  `UPDATE antiphon.files SET expires_at = 0 WHERE owner = $1 AND upload_id = $2 AND kind = 'part'`,
);

export const JOIN = prepared<readonly [content: string, position: number, from: string], unknown>(
  'join_part',
  'UPDATE antiphon.file_places SET content = $1, position = position + $2 WHERE content = $3 RETURNING 1',
);

export const ENDED = prepared<readonly [now: number], Pick<FileRow, 'owner' | 'about'>>(
  'ended_files',
  `SELECT owner, about FROM antiphon.files WHERE kind = 'file' AND expires_at <= $1 ORDER BY expires_at LIMIT ${BATCH}`,
);

export const RELEASE = prepared<ByIdAt, never>(
  'release_file',
  `UPDATE antiphon.files SET kind = 'ended' WHERE owner = $1 AND id = $2 AND kind = 'file' AND expires_at <= $3`,
);

export const POSTPONE = prepared<ByIdAt, never>(
  'postpone_file',
  `UPDATE antiphon.files SET expires_at = $3 WHERE owner = $1 AND id = $2 AND kind = 'file' AND expires_at <= $3`,
);

/** Rows are locked in one order, so that purges of several replicas do not wait for each other. */
export const FREE = prepared<readonly [now: number], { readonly owner: string; readonly hash: string }>(
  'free_pieces',
  `WITH freed AS (
    DELETE FROM antiphon.file_places WHERE (content, position) IN (
      SELECT l.content, l.position FROM antiphon.files f JOIN antiphon.file_places l ON l.content = f.content
      WHERE f.expires_at <= $1 AND f.kind <> 'file' LIMIT ${BATCH} FOR UPDATE OF l SKIP LOCKED
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

export const DROP_PIECES = prepared<readonly [owners: readonly string[], hashes: readonly string[]], never>(
  'drop_pieces_and_objects',
  `WITH dropped AS (
    DELETE FROM antiphon.file_pieces p USING unnest($1::text[], $2::text[]) AS gone (owner, hash)
    WHERE p.owner = gone.owner AND p.hash = gone.hash AND p.uses <= 0 RETURNING p.object
  )
  INSERT INTO antiphon.file_objects (name, due_at) SELECT object, 0 FROM dropped WHERE object IS NOT NULL`,
);

/** A content goes once it has no pieces any more: it may have been dropped behind `FREE`, and only it knows which pieces to free. */
export const FORGET = prepared<readonly [now: number, before: number], { readonly count: number }>(
  'forget_files',
  `WITH files AS (
    DELETE FROM antiphon.files WHERE content IN (SELECT f.content FROM antiphon.files f
      WHERE f.expires_at <= $1 AND f.kind <> 'file' AND (f.kind <> 'ended' OR f.expires_at <= $2)
        AND NOT EXISTS (SELECT FROM antiphon.file_places l WHERE l.content = f.content)
      LIMIT ${BATCH} FOR UPDATE OF f SKIP LOCKED) RETURNING 1
  ), uploads AS (
    DELETE FROM antiphon.file_uploads WHERE (owner, id) IN (SELECT owner, id FROM antiphon.file_uploads
      WHERE expires_at <= $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) RETURNING 1
  )
  SELECT greatest((SELECT count(*) FROM files), (SELECT count(*) FROM uploads))::integer AS count`,
);
