import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { StoreUnavailableError, UnknownCursorError } from '../errors.js';
import {
  type FilePage,
  type FilePiece,
  type FileQuota,
  type FileRecord,
  FileStore,
  type FileUsage,
  requireRoom,
  type UploadRecord,
} from '../file-store.js';
import { toKey } from '../keys.js';
import type { Page } from '../page.js';
import type { Database, RunStatement } from './database.js';
import { adHoc, prepared } from './statement.js';

/** Pieces that one purge frees at most, and files that it forgets. */
const BATCH = 64;

/** What stands for an expiry that never comes. */
const NEVER = Number.MAX_SAFE_INTEGER;

type ById = readonly [owner: string, id: string];
type ByIdAt = readonly [owner: string, id: string, now: number];

const APPEND = prepared<
  readonly [owner: string, id: string, expiresAt: number, position: number, hash: string, bytes: Uint8Array],
  never
>(
  'append_to_draft',
  `WITH draft AS (
    INSERT INTO antiphon.files AS f (owner, id, kind, created_at, expires_at, bytes)
    VALUES ($1, $2, 'draft', 0, $3, length($6::bytea))
    ON CONFLICT (owner, id) DO UPDATE SET bytes = f.bytes + excluded.bytes, expires_at = excluded.expires_at
    RETURNING content
  ), piece AS (
    INSERT INTO antiphon.file_pieces AS p (owner, hash, uses, bytes) VALUES ($1, $5, 1, $6)
    ON CONFLICT (owner, hash) DO UPDATE SET uses = p.uses + 1
  )
  INSERT INTO antiphon.file_places (content, position, owner, hash) SELECT content, $4, $1, $5 FROM draft`,
);

const ADD = prepared<ById, never>(
  'add_draft',
  `INSERT INTO antiphon.files (owner, id, kind, created_at, expires_at, bytes) VALUES ($1, $2, 'draft', 0, 0, 0)
  ON CONFLICT (owner, id) DO NOTHING`,
);

interface FileRow {
  readonly content: string;
  readonly kind: string;
  readonly created_at: number;
  readonly expires_at: number;
  readonly bytes: number;
  readonly about: string | null;
}

const FIND = prepared<ById, FileRow>(
  'find_file',
  `SELECT content, kind, created_at::float8, expires_at::float8, bytes::float8, about
  FROM antiphon.files WHERE owner = $1 AND id = $2`,
);

const SHOW = prepared<
  readonly [content: string, createdAt: number, expiresAt: number, purpose: string, about: string, bytes: number],
  never
>(
  'show_file',
  `UPDATE antiphon.files SET kind = 'file', created_at = $2, expires_at = $3, purpose = $4, about = $5, bytes = $6
  WHERE content = $1`,
);

/** Files of a tenant are committed one at a time, so that its quota holds. */
const LOCK = prepared<readonly [owner: string], unknown>(
  'lock_files',
  `SELECT pg_advisory_xact_lock(hashtextextended('antiphon files ' || $1, 0))`,
);

const USED = prepared<readonly [owner: string, now: number], FileUsage>(
  'files_used',
  `SELECT coalesce(sum(bytes), 0)::float8 AS bytes, (count(*) FILTER (WHERE kind = 'file'))::float8 AS files
  FROM antiphon.files WHERE owner = $1 AND expires_at > $2`,
);

const EXPIRE = prepared<readonly [...ByIdAt, kind: string], unknown>(
  'expire_file',
  `UPDATE antiphon.files SET expires_at = $3 WHERE owner = $1 AND id = $2 AND kind = $4 AND expires_at > $3
  RETURNING 1`,
);

const PIECE = prepared<readonly [...ByIdAt, position: number], { readonly bytes: Buffer }>(
  'file_piece',
  `SELECT p.bytes FROM antiphon.files f
    JOIN antiphon.file_places l ON l.content = f.content
    JOIN antiphon.file_pieces p ON p.owner = l.owner AND p.hash = l.hash
  WHERE f.owner = $1 AND f.id = $2 AND f.expires_at > $3 AND l.position = $4`,
);

const ADD_UPLOAD = prepared<readonly [owner: string, id: string, expiresAt: number, about: string], never>(
  'add_upload',
  `INSERT INTO antiphon.file_uploads (owner, id, expires_at, about) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
);

const FIND_UPLOAD = prepared<ByIdAt, { readonly about: string }>(
  'find_upload',
  'SELECT about FROM antiphon.file_uploads WHERE owner = $1 AND id = $2 AND expires_at > $3',
);

/** An upload, of which nobody else changes anything meanwhile. */
const HOLD_UPLOAD = prepared<ByIdAt, { readonly about: string }>(
  'hold_upload',
  'SELECT about FROM antiphon.file_uploads WHERE owner = $1 AND id = $2 AND expires_at > $3 FOR UPDATE',
);

const CHANGE_UPLOAD = prepared<readonly [owner: string, id: string, about: string], never>(
  'change_upload',
  'UPDATE antiphon.file_uploads SET about = $3 WHERE owner = $1 AND id = $2',
);

const TO_PART = prepared<readonly [owner: string, id: string, uploadId: string, expiresAt: number], unknown>(
  'to_part',
  `UPDATE antiphon.files SET kind = 'part', upload_id = $3, expires_at = $4
  WHERE owner = $1 AND id = $2 AND kind = 'draft' RETURNING 1`,
);

interface PartRow {
  readonly content: string;
  readonly id: string;
  readonly bytes: number;
}

const PARTS = prepared<ByIdAt, PartRow>(
  'find_parts',
  `SELECT content, id, bytes::float8 FROM antiphon.files
  WHERE owner = $1 AND upload_id = $2 AND kind = 'part' AND expires_at > $3`,
);

const DROP_PARTS = prepared<ById, never>(
  'drop_parts',
  `UPDATE antiphon.files SET expires_at = 0 WHERE owner = $1 AND upload_id = $2 AND kind = 'part'`,
);

const JOIN = prepared<readonly [content: string, position: number, from: string], unknown>(
  'join_part',
  'UPDATE antiphon.file_places SET content = $1, position = position + $2 WHERE content = $3 RETURNING 1',
);

/** Rows are locked in one order, so that purges of several replicas do not wait for each other. */
const FREE = prepared<readonly [now: number], { readonly owner: string; readonly hash: string }>(
  'free_pieces',
  `WITH freed AS (
    DELETE FROM antiphon.file_places WHERE (content, position) IN (
      SELECT l.content, l.position FROM antiphon.files f JOIN antiphon.file_places l ON l.content = f.content
      WHERE f.expires_at <= $1 LIMIT ${BATCH} FOR UPDATE OF l SKIP LOCKED
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
  'drop_pieces',
  `DELETE FROM antiphon.file_pieces p USING unnest($1::text[], $2::text[]) AS gone (owner, hash)
  WHERE p.owner = gone.owner AND p.hash = gone.hash AND p.uses <= 0`,
);

const FORGET = prepared<readonly [now: number, before: number], { readonly count: number }>(
  'forget_files',
  `WITH files AS (
    DELETE FROM antiphon.files WHERE content IN (SELECT content FROM antiphon.files
      WHERE expires_at <= $1 AND (kind <> 'file' OR expires_at <= $2) LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) RETURNING 1
  ), uploads AS (
    DELETE FROM antiphon.file_uploads WHERE (owner, id) IN (SELECT owner, id FROM antiphon.file_uploads
      WHERE expires_at <= $1 LIMIT ${BATCH} FOR UPDATE SKIP LOCKED) RETURNING 1
  )
  SELECT greatest((SELECT count(*) FROM files), (SELECT count(*) FROM uploads))::integer AS count`,
);

/** Files in PostgreSQL. */
export class PostgresFileStore extends FileStore {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async append(tenant: Tenant, draftId: string, piece: FilePiece, expiresAt: number): Promise<void> {
    const { position, hash, bytes } = piece;
    // Not repeated: the place of the piece would be taken.
    await this.database.query(APPEND, [toKey(tenant), toKey(draftId), expiresAt, position, hash, bytes]);
  }

  override async discard(tenant: Tenant, draftId: string): Promise<void> {
    await this.database.repeatable(EXPIRE, [...this.at(tenant, draftId), 'draft']);
  }

  override async commit(tenant: Tenant, record: FileRecord, quota: FileQuota): Promise<void> {
    const id = [toKey(tenant), toKey(record.id)] as const;
    await this.database.transaction(async (run) => {
      if (record.bytes === 0) await run(ADD, id);
      await run(LOCK, [id[0]]);
      const [row] = await run(FIND, id);
      if (row?.bytes !== record.bytes) throw new StoreUnavailableError('the draft of a file is gone');
      await this.requireRoom(run, tenant, quota);
      await run(SHOW, toShown(row.content, record));
    });
  }

  override async get(tenant: Tenant, fileId: string): Promise<FileRecord | undefined> {
    const [row] = await this.database.repeatable(FIND, [toKey(tenant), toKey(fileId)]);
    return row?.kind === 'file' && row.expires_at > this.clock.now() ? toRecord(row) : undefined;
  }

  override async list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>> {
    const { limit, order, after, purpose } = page;
    const [cursor] = after === undefined ? [] : await this.database.repeatable(FIND, [toKey(tenant), toKey(after)]);
    if (after !== undefined && cursor?.kind !== 'file') throw new UnknownCursorError(page);
    const [sign, direction] = order === 'asc' ? ['>', 'ASC'] : ['<', 'DESC'];
    const select = adHoc<readonly unknown[], Pick<FileRow, 'about'>>(
      `SELECT about FROM antiphon.files
      WHERE owner = $1 AND kind = 'file' AND expires_at > $2 AND ($3::text IS NULL OR purpose = $3)
        ${cursor === undefined ? '' : `AND (created_at, id) ${sign} ($4, $5)`}
      ORDER BY created_at ${direction}, id ${direction} LIMIT ${limit + 1}`,
    );
    const place = cursor === undefined ? [] : [cursor.created_at, toKey(after ?? '')];
    const values = [toKey(tenant), this.clock.now(), purpose ?? null, ...place];
    const rows = await this.database.repeatable(select, values);
    return { data: rows.slice(0, limit).map(toRecord), hasMore: rows.length > limit };
  }

  override async delete(tenant: Tenant, fileId: string): Promise<boolean> {
    return (await this.database.query(EXPIRE, [...this.at(tenant, fileId), 'file'])).length > 0;
  }

  override async piece(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | undefined> {
    const [row] = await this.database.repeatable(PIECE, [...this.at(tenant, contentId), position]);
    return row?.bytes;
  }

  override async used(tenant: Tenant): Promise<FileUsage> {
    return this.usedOf(this.database.repeatable, tenant);
  }

  override async createUpload(tenant: Tenant, upload: UploadRecord): Promise<void> {
    const { id, expiresAt } = upload;
    await this.database.repeatable(ADD_UPLOAD, [toKey(tenant), toKey(id), expiresAt, JSON.stringify(upload)]);
  }

  override async upload(tenant: Tenant, uploadId: string): Promise<UploadRecord | undefined> {
    const [row] = await this.database.repeatable(FIND_UPLOAD, this.at(tenant, uploadId));
    return row && (JSON.parse(row.about) as UploadRecord);
  }

  override addPart(tenant: Tenant, uploadId: string, partId: string): Promise<boolean> {
    return this.database.transaction(async (run) => {
      const upload = await this.hold(run, tenant, uploadId);
      if (upload === undefined) return false;
      const part = [toKey(tenant), toKey(partId), toKey(uploadId), upload.expiresAt] as const;
      if ((await run(TO_PART, part)).length === 0) throw new StoreUnavailableError('the draft of a part is gone');
      return true;
    });
  }

  override async parts(tenant: Tenant, uploadId: string): Promise<ReadonlyMap<string, number>> {
    const rows = await this.database.repeatable(PARTS, this.at(tenant, uploadId));
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  override complete(
    tenant: Tenant,
    uploadId: string,
    partIds: readonly string[],
    record: FileRecord,
    quota: FileQuota,
  ): Promise<boolean> {
    const id = [toKey(tenant), toKey(record.id)] as const;
    return this.database.transaction(async (run) => {
      await run(LOCK, [id[0]]);
      const upload = await this.hold(run, tenant, uploadId);
      if (upload === undefined) return false;
      const parts = new Map((await run(PARTS, this.at(tenant, uploadId))).map((part) => [part.id, part]));
      const joined = partIds.flatMap((partId) => parts.get(toKey(partId)) ?? []);
      const bytes = joined.reduce((sum, part) => sum + part.bytes, 0);
      if (joined.length < partIds.length || bytes !== record.bytes) return false;
      await this.requireRoom(run, tenant, quota);
      await run(ADD, id);
      const [row] = await run(FIND, id);
      if (row === undefined) throw new Error('a file was not stored');
      let position = 0;
      for (const { content } of joined) position += (await run(JOIN, [row.content, position, content])).length;
      await run(SHOW, toShown(row.content, record));
      await run(DROP_PARTS, [toKey(tenant), toKey(uploadId)]);
      await this.change(run, tenant, { ...upload, status: 'completed', file: record });
      return true;
    });
  }

  override cancel(tenant: Tenant, uploadId: string): Promise<boolean> {
    return this.database.transaction(async (run) => {
      const upload = await this.hold(run, tenant, uploadId);
      if (upload === undefined) return false;
      await run(DROP_PARTS, [toKey(tenant), toKey(uploadId)]);
      await this.change(run, tenant, { ...upload, status: 'cancelled' });
      return true;
    });
  }

  override async purge(): Promise<boolean> {
    const now = this.clock.now();
    const hasFreed = await this.database.transaction(async (run) => {
      const freed = await run(FREE, [now]);
      if (freed.length > 0) await run(DROP_PIECES, [freed.map(({ owner }) => owner), freed.map(({ hash }) => hash)]);
      return freed.length > 0;
    });
    if (hasFreed) return true;
    const [forgotten] = await this.database.query(FORGET, [now, now - BOOKMARK_MS]);
    return forgotten?.count === BATCH;
  }

  private at(tenant: Tenant, id: string): ByIdAt {
    return [toKey(tenant), toKey(id), this.clock.now()];
  }

  private async usedOf(run: RunStatement, tenant: Tenant): Promise<FileUsage> {
    const [row] = await run(USED, [toKey(tenant), this.clock.now()]);
    return row ?? { bytes: 0, files: 0 };
  }

  /** What becomes a file counts already as a draft, or as parts. */
  private async requireRoom(run: RunStatement, tenant: Tenant, quota: FileQuota): Promise<void> {
    const { bytes, files } = await this.usedOf(run, tenant);
    requireRoom({ bytes, files: files + 1 }, quota);
  }

  /** An upload that is pending, locked for the transaction. */
  private async hold(run: RunStatement, tenant: Tenant, uploadId: string): Promise<UploadRecord | undefined> {
    const [row] = await run(HOLD_UPLOAD, this.at(tenant, uploadId));
    const upload = row && (JSON.parse(row.about) as UploadRecord);
    return upload?.status === 'pending' ? upload : undefined;
  }

  private async change(run: RunStatement, tenant: Tenant, upload: UploadRecord): Promise<void> {
    await run(CHANGE_UPLOAD, [toKey(tenant), toKey(upload.id), JSON.stringify(upload)]);
  }
}

function toShown(content: string, record: FileRecord) {
  const { createdAt, expiresAt, purpose, bytes } = record;
  return [content, createdAt, expiresAt ?? NEVER, purpose, JSON.stringify(record), bytes] as const;
}

function toRecord({ about }: Pick<FileRow, 'about'>): FileRecord {
  return JSON.parse(about ?? '') as FileRecord;
}
