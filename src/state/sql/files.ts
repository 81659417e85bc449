import type { Tenant } from '../../access/index.js';
import { StoreUnavailableError } from '../errors.js';
import {
  type EndedFile,
  type FilePage,
  type FileQuota,
  type FileRecord,
  type FileStore,
  type FileUsage,
  NoBucketError,
  type ObjectRecords,
  PIECE_BYTES,
  requireRoom,
  type StoredObject,
  type UploadRecord,
} from '../file-store.js';
import { toKey } from '../keys.js';
import type { Page } from '../page.js';
import { readRecord } from '../read-record.js';
import { readablePage } from '../readable-page.js';
import type { Owners, SqlDialect } from './dialect.js';
import { readPage, type StoredRecord } from './pages.js';
import { once } from './statement.js';
import type { ByIdAt, Content, EndedRow, FileStatements, ObjectStatements } from './statements/files.js';
import { type InSteps, type Modes, rowOf, rowsOf, type Steps } from './steps.js';

/** The expiry of a file that never expires. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** What each store of files in a database must do: lists give records as they are stored. */
export type FileMethods = Omit<FileStore, 'pieceBytes' | 'objects' | 'openPiece' | 'sweep' | 'list'> & {
  list(tenant: Tenant, page: FilePage): Promise<Page<StoredRecord>>;
};

/** What is told of a piece that is appended to a draft. */
export type AppendPiece = Parameters<FileStore['append']>;
/** The same of one that is in a bucket. */
export type AppendObject = Parameters<ObjectRecords['append']>;
/** The same of one that the tenant has already. */
export type AppendKnown = Parameters<ObjectRecords['appendKnown']>;

/** How the methods of files are run. */
export const FILE_MODES: Modes<keyof FileMethods> = {
  append: 'statements',
  discard: 'statements',
  commit: 'transaction',
  get: 'statements',
  list: 'statements',
  delete: 'statements',
  piece: 'statements',
  used: 'statements',
  tenants: 'statements',
  createUpload: 'transaction',
  upload: 'statements',
  addPart: 'transaction',
  parts: 'statements',
  complete: 'transaction',
  cancel: 'transaction',
  ended: 'statements',
  release: 'statements',
  postpone: 'statements',
  purge: 'transaction',
};

/** How the methods of objects are run. */
export const OBJECT_MODES: Modes<keyof ObjectRecords> = {
  plan: 'statements',
  appendKnown: 'statements',
  append: 'statements',
  replace: 'transaction',
  find: 'statements',
  due: 'statements',
  forget: 'statements',
};

/** The files of a database that may have their bytes in a bucket. */
export function toFileStore<Objects extends ObjectRecords>(methods: FileMethods, objects: Objects) {
  const list: FileStore['list'] = (tenant, page) => {
    const read = ({ id, about }: StoredRecord): FileRecord => readFile(about, id);
    return readablePage(tenant, page, (asked) => methods.list(tenant, asked), read);
  };
  return { ...methods, list, pieceBytes: PIECE_BYTES, objects };
}

/** What is stored of a file. The tenant is with it where the key of that is a digest. */
export interface About extends FileRecord {
  readonly tenant?: Tenant;
}

/** Parses what is stored of a file. Throws DamagedRecordError. */
function readFile(about: string, id: string): FileRecord {
  const { tenant: _, ...record } = readRecord<About>(about, `/v1/files/${id}`, 'id');
  return record;
}

/** Pieces in a bucket, as a database with SQL knows them. */
export abstract class SqlObjects implements InSteps<ObjectRecords> {
  constructor(
    protected readonly statements: ObjectStatements,
    protected readonly owners: Owners,
    protected readonly now: () => number,
  ) {}

  *plan(object: string, dueAt: number): Steps<void> {
    yield* rowsOf(once(this.statements.plan), [object, dueAt]);
  }

  abstract appendKnown(...args: AppendKnown): Steps<string | null | undefined>;

  abstract append(...args: AppendObject): Steps<void>;

  *replace(tenant: Tenant, hash: string, lost: string, object: string): Steps<void> {
    yield* this.take(object);
    const isReplaced =
      (yield* rowsOf(this.statements.replace, [this.owners.find(tenant), hash, lost, object])).length > 0;
    yield* this.plan(isReplaced ? lost : object, 0);
  }

  *find(tenant: Tenant, contentId: string, position: number): Steps<Uint8Array | StoredObject | undefined> {
    const place = [this.owners.find(tenant), toKey(contentId), this.now(), position] as const;
    const row = yield* rowOf(this.statements.piece, place);
    if (row === undefined || row.object === null) return row?.bytes;
    return { object: row.object, length: row.length };
  }

  *due(): Steps<readonly string[]> {
    return (yield* rowsOf(this.statements.due, [this.now()])).map(({ name }) => name);
  }

  *forget(objects: readonly string[]): Steps<void> {
    yield* rowsOf(this.statements.forget, [objects]);
  }

  /** Takes an object out of the plan. Throws StoreUnavailableError where its deletion may have begun. */
  *take(object: string): Steps<void> {
    if ((yield* rowsOf(this.statements.take, [object])).length > 0) return;
    throw new StoreUnavailableError(`the object ${object} was written too late`);
  }

  /** The bytes and files of a tenant. */
  *used(tenant: Tenant): Steps<FileUsage> {
    const row = yield* rowOf(this.statements.used, [this.owners.find(tenant), this.now()]);
    return row ?? { bytes: 0, files: 0 };
  }

  /** Throws FileQuotaError when a tenant would have more than it may. */
  *requireRoom(tenant: Tenant, quota: FileQuota, added: FileUsage = { bytes: 0, files: 0 }): Steps<void> {
    const { bytes, files } = yield* this.used(tenant);
    requireRoom({ bytes: bytes + added.bytes, files: files + added.files }, quota);
  }
}

/** Files in a database with SQL. */
export abstract class SqlFiles<Objects extends SqlObjects = SqlObjects> implements InSteps<FileMethods> {
  constructor(
    private readonly dialect: SqlDialect,
    protected readonly statements: FileStatements,
    protected readonly objects: Objects,
    protected readonly owners: Owners,
    protected readonly now: () => number,
  ) {}

  abstract append(...args: AppendPiece): Steps<void>;

  *discard(tenant: Tenant, draftId: string): Steps<void> {
    yield* rowsOf(this.statements.expire, [...this.at(tenant, draftId), 'draft']);
  }

  *commit(tenant: Tenant, record: FileRecord, quota: FileQuota): Steps<void> {
    const id = [this.owners.findOrCreate(tenant), toKey(record.id)] as const;
    if (record.bytes === 0) yield* rowsOf(this.statements.add, id);
    yield* this.lock(tenant);
    const row = yield* rowOf(this.statements.find, id);
    if (row?.bytes !== record.bytes) throw new StoreUnavailableError('the draft of a file is gone');
    // The bytes of the draft count already.
    yield* this.objects.requireRoom(tenant, quota, { bytes: 0, files: 1 });
    yield* this.show(row.content, tenant, record);
  }

  *get(tenant: Tenant, fileId: string): Steps<FileRecord | undefined> {
    const row = yield* rowOf(this.statements.find, [this.owners.find(tenant), toKey(fileId)]);
    return row?.kind === 'file' && row.expires_at > this.now() ? readFile(row.about ?? '', fileId) : undefined;
  }

  *list(tenant: Tenant, page: FilePage): Steps<Page<StoredRecord>> {
    const table = {
      name: 'files',
      within: { owner: this.owners.find(tenant) },
      // What is stored is a known purpose; a client may ask for any text, which PostgreSQL would refuse with NUL.
      filter: { purpose: page.purpose === undefined ? undefined : toKey(page.purpose) },
      isListed: `kind = 'file' AND expires_at > ${this.now()}`,
      isCursor: `kind IN ('file', 'ended')`,
    };
    return yield* readPage(this.dialect, table, page);
  }

  *delete(tenant: Tenant, fileId: string): Steps<boolean> {
    return (yield* rowsOf(once(this.statements.expire), [...this.at(tenant, fileId), 'file'])).length > 0;
  }

  *piece(tenant: Tenant, contentId: string, position: number): Steps<Uint8Array | undefined> {
    const found = yield* this.objects.find(tenant, contentId, position);
    if (found === undefined || found instanceof Uint8Array) return found;
    throw new NoBucketError();
  }

  used(tenant: Tenant): Steps<FileUsage> {
    return this.objects.used(tenant);
  }

  abstract tenants(): Steps<readonly Tenant[]>;

  *createUpload(tenant: Tenant, upload: UploadRecord, quota: FileQuota): Steps<void> {
    const { id, expiresAt, bytes } = upload;
    yield* this.lock(tenant);
    yield* this.objects.requireRoom(tenant, quota, { bytes, files: 1 });
    const owner = this.owners.findOrCreate(tenant);
    yield* rowsOf(this.statements.addUpload, [owner, toKey(id), expiresAt, JSON.stringify(upload)]);
  }

  *upload(tenant: Tenant, uploadId: string): Steps<UploadRecord | undefined> {
    const row = yield* rowOf(this.statements.findUpload, this.at(tenant, uploadId));
    return row && readUpload(row.about, uploadId);
  }

  *addPart(tenant: Tenant, uploadId: string, partId: string): Steps<boolean> {
    const upload = yield* this.hold(tenant, uploadId);
    if (upload === undefined) return false;
    const part = [this.owners.find(tenant), toKey(partId), toKey(uploadId), upload.expiresAt] as const;
    if ((yield* rowsOf(this.statements.toPart, part)).length > 0) return true;
    throw new StoreUnavailableError('the draft of a part is gone');
  }

  *parts(tenant: Tenant, uploadId: string): Steps<ReadonlyMap<string, number>> {
    const rows = yield* rowsOf(this.statements.parts, this.at(tenant, uploadId));
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  *complete(
    tenant: Tenant,
    uploadId: string,
    partIds: readonly string[],
    record: FileRecord,
    quota: FileQuota,
  ): Steps<boolean> {
    const id = [this.owners.find(tenant), toKey(record.id)] as const;
    yield* this.lock(tenant);
    const upload = yield* this.hold(tenant, uploadId);
    if (upload === undefined) return false;
    const rows = yield* rowsOf(this.statements.parts, this.at(tenant, uploadId));
    const parts = new Map(rows.map((part) => [part.id, part]));
    const joined = partIds.flatMap((partId) => parts.get(toKey(partId)) ?? []);
    const bytes = joined.reduce((sum, part) => sum + part.bytes, 0);
    if (joined.length < partIds.length || bytes !== record.bytes) return false;
    // The parts and the upload itself count already.
    yield* this.objects.requireRoom(tenant, quota);
    yield* rowsOf(this.statements.add, id);
    const row = yield* rowOf(this.statements.find, id);
    if (row === undefined) throw new Error('a file was not stored');
    let position = 0;
    for (const { content } of joined) {
      position += (yield* rowsOf(this.statements.join, [row.content, position, content])).length;
    }
    yield* this.show(row.content, tenant, record);
    yield* this.dropParts(tenant, { ...upload, status: 'completed', file: record });
    return true;
  }

  *cancel(tenant: Tenant, uploadId: string): Steps<boolean> {
    const upload = yield* this.hold(tenant, uploadId);
    if (upload === undefined) return false;
    yield* this.dropParts(tenant, { ...upload, status: 'cancelled' });
    return true;
  }

  *ended(): Steps<readonly EndedFile[]> {
    const now = this.now();
    const ended: EndedFile[] = [];
    for (const row of yield* rowsOf(this.statements.ended, [now])) {
      const tenant = this.tenantOf(row);
      // The key of a file is its id: what is stored of it may be damaged.
      if (tenant !== undefined) ended.push({ tenant, id: row.id });
      // Those behind it do not wait for one of which nobody knows whose it is.
      else yield* rowsOf(this.statements.postpone, [row.owner, row.id, now]);
    }
    return ended;
  }

  *release({ tenant, id }: EndedFile): Steps<void> {
    yield* rowsOf(this.statements.release, this.at(tenant, id));
  }

  *postpone({ tenant, id }: EndedFile): Steps<void> {
    yield* rowsOf(this.statements.postpone, this.at(tenant, id));
  }

  abstract purge(): Steps<boolean>;

  /** Whose a file is that has ended; undefined, and logged, where that is damaged. */
  protected abstract tenantOf(row: EndedRow): Tenant | undefined;

  /** What is stored of a file, as JSON. */
  protected abstract toAbout(tenant: Tenant, record: FileRecord): string;

  private at(tenant: Tenant, id: string): ByIdAt {
    return [this.owners.find(tenant), toKey(id), this.now()];
  }

  private *lock(tenant: Tenant): Steps<void> {
    if (this.statements.lock !== null) yield* rowsOf(this.statements.lock, [this.owners.find(tenant)]);
  }

  private *show(content: Content, tenant: Tenant, record: FileRecord): Steps<void> {
    const { createdAt, expiresAt, purpose, bytes } = record;
    const about = this.toAbout(tenant, record);
    yield* rowsOf(this.statements.show, [content, createdAt, expiresAt ?? NEVER, purpose, about, bytes]);
  }

  /** An upload that is pending. */
  private *hold(tenant: Tenant, uploadId: string): Steps<UploadRecord | undefined> {
    const row = yield* rowOf(this.statements.holdUpload, this.at(tenant, uploadId));
    const upload = row && readUpload(row.about, uploadId);
    return upload?.status === 'pending' ? upload : undefined;
  }

  /** Lets the parts of an upload go that are left, and changes it. */
  private *dropParts(tenant: Tenant, upload: UploadRecord): Steps<void> {
    const id = [this.owners.find(tenant), toKey(upload.id)] as const;
    yield* rowsOf(this.statements.dropParts, id);
    yield* rowsOf(this.statements.changeUpload, [...id, JSON.stringify(upload)]);
  }
}

function readUpload(about: string, uploadId: string): UploadRecord {
  return readRecord(about, `the upload ${uploadId}`, 'id');
}
