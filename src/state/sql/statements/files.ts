import type { FileUsage } from '../../file-store.js';
import type { Owner, SqlDialect } from '../dialect.js';
import { prepared } from '../statement.js';

/** Pieces that one purge frees at most, and files that it forgets; files in a batch of those that have ended, and objects of those that are due. */
export const FILE_BATCH = 64;

/** The number of a draft, a part or a file. */
export type Content = string | number;

/** A content or an upload. */
export type ById = readonly [owner: Owner, id: string];
/** A content or an upload, at a time in ms since the epoch. */
export type ByIdAt = readonly [...ById, now: number];

/** A content. */
export interface FileRow {
  readonly content: Content;
  readonly kind: string;
  readonly expires_at: number;
  readonly bytes: number;
  readonly about: string | null;
}

/** A file that has ended; `about`: what says whose it is. */
export interface EndedRow {
  readonly owner: Owner;
  readonly id: string;
  readonly about: string;
}

/** A piece: its bytes, or the object that has them. */
export interface PieceRow {
  readonly bytes: Uint8Array;
  readonly object: string | null;
  readonly length: number;
}

/** The statements of files that databases share. */
export type FileStatements = ReturnType<typeof fileStatements>;

/** Makes them. `ofEnded`: what says whose a file `f` is that has ended. */
export function fileStatements({ table, number, lock, held }: SqlDialect, ofEnded: string) {
  const [files, places, uploads] = ['files', 'file_places', 'file_uploads'].map(table) as [string, string, string];
  const findUpload = `SELECT about FROM ${uploads} WHERE owner = $1 AND id = $2 AND expires_at > $3`;
  return {
    /** Files of a tenant are committed, and uploads begun, one at a time, so that its quota holds. */
    lock: lock('lock_files', 'files'),
    add: prepared<ById, never>(
      'add_draft',
      `INSERT INTO ${files} (owner, id, kind, created_at, expires_at, bytes) VALUES ($1, $2, 'draft', 0, 0, 0)
      ON CONFLICT (owner, id) DO NOTHING`,
    ),
    find: prepared<ById, FileRow>(
      'find_file',
      `SELECT content, kind, ${number('expires_at')} AS expires_at, ${number('bytes')} AS bytes, about
      FROM ${files} WHERE owner = $1 AND id = $2`,
    ),
    show: prepared<
      readonly [content: Content, createdAt: number, expiresAt: number, purpose: string, about: string, bytes: number],
      never
    >(
      'show_file',
      `UPDATE ${files} SET kind = 'file', created_at = $2, expires_at = $3, purpose = $4, about = $5, bytes = $6
      WHERE content = $1`,
    ),
    expire: prepared<readonly [...ByIdAt, kind: string], unknown>(
      'expire_file',
      `UPDATE ${files} SET expires_at = $3 WHERE owner = $1 AND id = $2 AND kind = $4 AND expires_at > $3 RETURNING 1`,
    ),
    addUpload: prepared<readonly [...ById, expiresAt: number, about: string], never>(
      'add_upload',
      `INSERT INTO ${uploads} (owner, id, expires_at, about) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
    ),
    findUpload: prepared<ByIdAt, { readonly about: string }>('find_upload', findUpload),
    /** An upload, of which nobody else changes anything meanwhile. */
    holdUpload: prepared<ByIdAt, { readonly about: string }>('hold_upload', `${findUpload} ${held}`),
    changeUpload: prepared<readonly [...ById, about: string], never>(
      'change_upload',
      `UPDATE ${uploads} SET about = $3 WHERE owner = $1 AND id = $2`,
    ),
    toPart: prepared<readonly [...ById, uploadId: string, expiresAt: number], unknown>(
      'to_part',
      `UPDATE ${files} SET kind = 'part', upload_id = $3, expires_at = $4
      WHERE owner = $1 AND id = $2 AND kind = 'draft' RETURNING 1`,
    ),
    parts: prepared<ByIdAt, { readonly content: Content; readonly id: string; readonly bytes: number }>(
      'find_parts',
      `SELECT content, id, ${number('bytes')} AS bytes FROM ${files}
      WHERE owner = $1 AND upload_id = $2 AND kind = 'part' AND expires_at > $3`,
    ),
    dropParts: prepared<ById, never>(
      'drop_parts',
      `UPDATE ${files} SET expires_at = 0 WHERE owner = $1 AND upload_id = $2 AND kind = 'part'`,
    ),
    join: prepared<readonly [content: Content, position: number, from: Content], unknown>(
      'join_part',
      `UPDATE ${places} SET content = $1, position = position + $2 WHERE content = $3 RETURNING 1`,
    ),
    ended: prepared<readonly [now: number], EndedRow>(
      'ended_files',
      `SELECT f.owner, f.id, ${ofEnded} AS about FROM ${files} f
      WHERE f.kind = 'file' AND f.expires_at <= $1 ORDER BY f.expires_at LIMIT ${FILE_BATCH}`,
    ),
    release: prepared<ByIdAt, never>(
      'release_file',
      `UPDATE ${files} SET kind = 'ended' WHERE owner = $1 AND id = $2 AND kind = 'file' AND expires_at <= $3`,
    ),
    postpone: prepared<ByIdAt, never>(
      'postpone_file',
      `UPDATE ${files} SET expires_at = $3 WHERE owner = $1 AND id = $2 AND kind = 'file' AND expires_at <= $3`,
    ),
  };
}

/** The statements of pieces and objects that databases share. */
export type ObjectStatements = ReturnType<typeof objectStatements>;

/** Makes them. `piece`: the query of a piece. */
export function objectStatements({ table, number, isIn, skipping }: SqlDialect, piece: string) {
  const objects = table('file_objects');
  return {
    plan: prepared<readonly [name: string, dueAt: number], never>(
      'plan_object',
      `INSERT INTO ${objects} (name, due_at) VALUES ($1, $2)`,
    ),
    /** Takes an object out of the plan, unless its deletion may have begun. */
    take: prepared<readonly [name: string], unknown>(
      'take_object',
      `DELETE FROM ${objects} WHERE name = $1 AND due_at > 0 RETURNING 1`,
    ),
    replace: prepared<readonly [owner: Owner, hash: string, lost: string, object: string], unknown>(
      'replace_object',
      `UPDATE ${table('file_pieces')} SET object = $4 WHERE owner = $1 AND hash = $2 AND object = $3 RETURNING 1`,
    ),
    // Quotes within the strings of a JSON text are escaped: only the member itself reads as what is looked for.
    used: prepared<readonly [owner: Owner, now: number], FileUsage>(
      'files_used',
      `SELECT ${number('coalesce(sum(bytes), 0)')} AS bytes, ${number(`count(*) FILTER (WHERE kind = 'file') + (
        SELECT count(*) FROM ${table('file_uploads')} WHERE owner = $1 AND expires_at > $2 AND about LIKE '%"status":"pending"%'
      )`)} AS files FROM ${table('files')} WHERE owner = $1 AND expires_at > $2`,
    ),
    piece: prepared<readonly [...ByIdAt, position: number], PieceRow>('piece_of_file', piece),
    due: prepared<readonly [now: number], { readonly name: string }>(
      'due_objects',
      `UPDATE ${objects} SET due_at = -CAST($1 AS bigint) WHERE name IN (
        SELECT name FROM ${objects} WHERE due_at <= $1 ORDER BY due_at DESC LIMIT ${FILE_BATCH} ${skipping}
      ) RETURNING name`,
    ),
    forget: prepared<readonly [names: readonly string[]], never>(
      'forget_objects',
      `DELETE FROM ${objects} WHERE ${isIn('name', '$1')}`,
    ),
  };
}
