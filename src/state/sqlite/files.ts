import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
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
  type UploadRecord,
} from '../file-store.js';
import type { Page } from '../page.js';
import type { DatabaseThread } from './database-thread.js';
import { requireStored, SqliteObjectRecords } from './objects.js';

/** Files in SQLite. */
export class SqliteFileStore extends FileStore {
  override readonly objects: SqliteObjectRecords;

  constructor(
    private readonly thread: DatabaseThread,
    private readonly clock: Clock,
  ) {
    super();
    this.objects = new SqliteObjectRecords(thread, clock);
  }

  override async append(
    tenant: Tenant,
    draftId: string,
    piece: FilePiece,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void> {
    const now = this.clock.now();
    requireStored(await this.thread.call('appendToDraft', tenant, draftId, piece, expiresAt, quota, now));
  }

  override discard(tenant: Tenant, draftId: string): Promise<void> {
    return this.thread.call('discardDraft', tenant, draftId, this.clock.now());
  }

  override async commit(tenant: Tenant, record: FileRecord, quota: FileQuota): Promise<void> {
    requireStored(await this.thread.call('commitFile', tenant, record, quota, this.clock.now()));
  }

  override get(tenant: Tenant, fileId: string): Promise<FileRecord | undefined> {
    return this.thread.call('getFile', tenant, fileId, this.clock.now());
  }

  override async list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>> {
    const found = await this.thread.call('listFiles', tenant, page, this.clock.now());
    if (found === 'unknown cursor') throw new UnknownCursorError(page);
    return found;
  }

  override delete(tenant: Tenant, fileId: string): Promise<boolean> {
    return this.thread.call('deleteFile', tenant, fileId, this.clock.now());
  }

  override async piece(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | undefined> {
    const found = await this.objects.find(tenant, contentId, position);
    if (found === undefined || found instanceof Uint8Array) return found;
    throw new NoBucketError();
  }

  override used(tenant: Tenant): Promise<FileUsage> {
    return this.thread.call('fileUsage', tenant, this.clock.now());
  }

  override tenants(): Promise<readonly Tenant[]> {
    return this.thread.call('fileTenants', this.clock.now());
  }

  override async createUpload(tenant: Tenant, upload: UploadRecord, quota: FileQuota): Promise<void> {
    requireStored(await this.thread.call('createUpload', tenant, upload, quota, this.clock.now()));
  }

  override upload(tenant: Tenant, uploadId: string): Promise<UploadRecord | undefined> {
    return this.thread.call('findUpload', tenant, uploadId, this.clock.now());
  }

  override async addPart(tenant: Tenant, uploadId: string, partId: string): Promise<boolean> {
    const isAdded = await this.thread.call('addPart', tenant, uploadId, partId, this.clock.now());
    if (typeof isAdded === 'boolean') return isAdded;
    throw new StoreUnavailableError('the draft of a part is gone');
  }

  override parts(tenant: Tenant, uploadId: string): Promise<ReadonlyMap<string, number>> {
    return this.thread.call('findParts', tenant, uploadId, this.clock.now());
  }

  override async complete(
    tenant: Tenant,
    uploadId: string,
    partIds: readonly string[],
    record: FileRecord,
    quota: FileQuota,
  ): Promise<boolean> {
    const now = this.clock.now();
    const outcome = await this.thread.call('completeUpload', tenant, uploadId, partIds, record, quota, now);
    if (typeof outcome === 'boolean') return outcome;
    requireStored(outcome);
    return false;
  }

  override cancel(tenant: Tenant, uploadId: string): Promise<boolean> {
    return this.thread.call('cancelUpload', tenant, uploadId, this.clock.now());
  }

  override ended(): Promise<readonly EndedFile[]> {
    return this.thread.call('endedFiles', this.clock.now());
  }

  override release(file: EndedFile): Promise<void> {
    return this.thread.call('releaseFile', file, this.clock.now());
  }

  override postpone(file: EndedFile): Promise<void> {
    return this.thread.call('postponeFile', file, this.clock.now());
  }

  override purge(): Promise<boolean> {
    return this.thread.call('purgeFiles', this.clock.now());
  }
}
