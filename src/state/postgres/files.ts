import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { StoreUnavailableError, UnknownCursorError } from '../errors.js';
import {
  type EndedFile,
  type FilePage,
  type FilePiece,
  type FileQuota,
  type FileRecord,
  FileStore,
  type FileUsage,
  NoBucketError,
  requireRoom,
  type UploadRecord,
} from '../file-store.js';
import { isDigest, toKey } from '../keys.js';
import { PostgresObjectRecords } from './objects.js';
import type { Page } from '../page.js';
import type { Database, RunStatement } from './database.js';
import { tenantOf } from './moved-rows.js';
import { adHoc } from '../sql/statement.js';
import {
  ADD,
  ADD_UPLOAD,
  APPEND,
  BATCH,
  CHANGE_UPLOAD,
  DROP_PARTS,
  DROP_PIECES,
  ENDED,
  EXPIRE,
  FIND,
  FIND_UPLOAD,
  FORGET,
  FREE,
  HOLD_UPLOAD,
  JOIN,
  OWNERS,
  LOCK,
  PARTS,
  POSTPONE,
  RELEASE,
  SHOW,
  TO_PART,
  USED,
  type ByIdAt,
  type FileRow,
} from './statements/files.js';

/** What stands for an expiry that never comes. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** Files in PostgreSQL. */
export class PostgresFileStore extends FileStore {
  override readonly objects: PostgresObjectRecords;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {
    super();
    this.objects = new PostgresObjectRecords(database, clock, (tenant) => this.used(tenant));
  }

  override async append(
    tenant: Tenant,
    draftId: string,
    piece: FilePiece,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void> {
    const { position, hash, bytes } = piece;
    const next = [toKey(tenant), toKey(draftId), expiresAt, position, hash, bytes.length] as const;
    // Not repeated: the place of the piece would be taken.
    await this.database.query(APPEND, [...next, bytes, null]);
    // Behind the piece: whoever is last sees all others, and no writer waits for another with a connection in its hands.
    requireRoom(await this.used(tenant), quota);
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
      // Its bytes count already.
      await this.requireRoom(run, tenant, { bytes: 0, files: 1 }, quota);
      await run(SHOW, toShown(row.content, tenant, record));
    });
  }

  override async get(tenant: Tenant, fileId: string): Promise<FileRecord | undefined> {
    const [row] = await this.database.repeatable(FIND, [toKey(tenant), toKey(fileId)]);
    return row?.kind === 'file' && row.expires_at > this.clock.now() ? toRecord(row) : undefined;
  }

  override async list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>> {
    const { limit, order, after, purpose } = page;
    const [cursor] = after === undefined ? [] : await this.database.repeatable(FIND, [toKey(tenant), toKey(after)]);
    if (after !== undefined && cursor?.kind !== 'file' && cursor?.kind !== 'ended') throw new UnknownCursorError(page);
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
    const found = await this.objects.find(tenant, contentId, position);
    if (found === undefined || found instanceof Uint8Array) return found;
    throw new NoBucketError();
  }

  override async used(tenant: Tenant): Promise<FileUsage> {
    return this.usedOf(this.database.repeatable, tenant);
  }

  override async tenants(): Promise<readonly Tenant[]> {
    const rows = await this.database.repeatable(OWNERS, [this.clock.now()]);
    return rows.map(({ owner }) => tenantOf(owner, null));
  }

  override async createUpload(tenant: Tenant, upload: UploadRecord, quota: FileQuota): Promise<void> {
    const { id, expiresAt, bytes } = upload;
    await this.database.transaction(async (run) => {
      await run(LOCK, [toKey(tenant)]);
      await this.requireRoom(run, tenant, { bytes, files: 1 }, quota);
      await run(ADD_UPLOAD, [toKey(tenant), toKey(id), expiresAt, JSON.stringify(upload)]);
    });
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
      // Its parts and itself count already.
      await this.requireRoom(run, tenant, { bytes: 0, files: 0 }, quota);
      await run(ADD, id);
      const [row] = await run(FIND, id);
      if (row === undefined) throw new Error('a file was not stored');
      let position = 0;
      for (const { content } of joined) position += (await run(JOIN, [row.content, position, content])).length;
      await run(SHOW, toShown(row.content, tenant, record));
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

  override async ended(): Promise<readonly EndedFile[]> {
    const rows = await this.database.repeatable(ENDED, [this.clock.now()]);
    return rows.map((row) => {
      const { id, tenant = row.owner as Tenant } = readAbout(row);
      return { tenant, id };
    });
  }

  override async release({ tenant, id }: EndedFile): Promise<void> {
    await this.database.repeatable(RELEASE, this.at(tenant, id));
  }

  override async postpone({ tenant, id }: EndedFile): Promise<void> {
    await this.database.repeatable(POSTPONE, this.at(tenant, id));
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

  private async requireRoom(run: RunStatement, tenant: Tenant, added: FileUsage, quota: FileQuota): Promise<void> {
    const { bytes, files } = await this.usedOf(run, tenant);
    requireRoom({ bytes: bytes + added.bytes, files: files + added.files }, quota);
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

function toShown(content: string, tenant: Tenant, record: FileRecord) {
  const { createdAt, expiresAt, purpose, bytes } = record;
  const about: About = isDigest(toKey(tenant)) ? { ...record, tenant } : record;
  return [content, createdAt, expiresAt ?? NEVER, purpose, JSON.stringify(about), bytes] as const;
}

/** What is stored of a file, with its tenant where the key of that is a digest. */
interface About extends FileRecord {
  readonly tenant?: Tenant;
}

function readAbout({ about }: Pick<FileRow, 'about'>): About {
  return JSON.parse(about ?? '') as About;
}

function toRecord(row: Pick<FileRow, 'about'>): FileRecord {
  const { tenant: _, ...record } = readAbout(row);
  return record;
}
