import { Logger } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { inOneLine, StoreUnavailableError } from '../errors.js';
import {
  type EndedFile,
  type FilePage,
  type FilePiece,
  type FileQuota,
  type FileRecord,
  FileStore,
  type FileUsage,
  type ObjectRecords,
  type UploadRecord,
} from '../file-store.js';
import type { Page } from '../page.js';
import type { Bucket } from './bucket.js';

/** Most bytes of an object: each costs a request, and an upload holds one in memory. */
const OBJECT_BYTES = 4 * 1024 * 1024;

/** How long an object may take from its plan to its piece, ms: much longer than the attempts to write it. */
const PLAN_MS = 3_600_000;

/** Files whose pieces are objects of a bucket, while a database keeps everything else. */
export class BucketFileStore extends FileStore {
  override readonly pieceBytes = OBJECT_BYTES;
  private readonly logger = new Logger('Files');

  constructor(
    private readonly records: FileStore,
    override readonly objects: ObjectRecords,
    private readonly bucket: Bucket,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async append(
    tenant: Tenant,
    draftId: string,
    { position, hash, bytes }: FilePiece,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void> {
    const piece = { position, hash, length: bytes.length };
    const known = await this.objects.appendKnown(tenant, draftId, piece, expiresAt, quota);
    if (known === null) return;
    // The bucket may have lost it, or have been restored from an older copy: whoever sends the bytes again repairs all files that have them.
    if (known !== undefined && (await this.bucket.has(known))) return;
    const object = this.bucket.newName();
    await this.objects.plan(object, this.clock.now() + PLAN_MS);
    await this.bucket.put(object, bytes);
    if (known === undefined) await this.objects.append(tenant, draftId, { ...piece, object }, expiresAt, quota);
    else await this.objects.replace(tenant, hash, known, object);
  }

  override async piece(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | undefined> {
    const parts: Uint8Array[] = [];
    const piece = await this.openPiece(tenant, contentId, position, (left) => left);
    if (piece === undefined) return undefined;
    for await (const part of piece) parts.push(part);
    return Buffer.concat(parts);
  }

  override async openPiece(
    tenant: Tenant,
    contentId: string,
    position: number,
    mostBytes: (left: number) => number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined> {
    const find = (): ReturnType<ObjectRecords['find']> => this.objects.find(tenant, contentId, position);
    const found = await find();
    if (found === undefined) return undefined;
    if (found instanceof Uint8Array) return whole(found);
    const { object, length: of } = found;
    const read = async (start: number): Promise<readonly Uint8Array[] | undefined> =>
      this.bucket.read(object, { start, length: Math.min(of - start, mostBytes(of - start)), of }, signal);
    const first = await read(0);
    if (first !== undefined) return inFull(first, of, read);
    // Its file may have been deleted meanwhile, or an object that was lost replaced.
    const current = await find();
    if (current === undefined) return undefined;
    if (current instanceof Uint8Array || current.object !== object) {
      return this.openPiece(tenant, contentId, position, mostBytes, signal);
    }
    this.logger.error(`${contentId} cannot be read: its object ${object} is not in the bucket`);
    throw new StoreUnavailableError(`the object ${object} is not in the bucket`);
  }

  override purge(): Promise<boolean> {
    return this.records.purge();
  }

  override async sweep(): Promise<boolean> {
    const deleted: string[] = [];
    const remove = async (object: string): Promise<void> => {
      await this.bucket.delete(object);
      deleted.push(object);
    };
    const outcomes = await Promise.allSettled((await this.objects.due()).map(remove));
    if (deleted.length > 0) await this.objects.forget(deleted);
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) this.logger.debug(`objects are not deleted yet: ${inOneLine(failed.reason)}`);
    return deleted.length > 0;
  }

  override discard(tenant: Tenant, draftId: string): Promise<void> {
    return this.records.discard(tenant, draftId);
  }

  override commit(tenant: Tenant, record: FileRecord, quota: FileQuota): Promise<void> {
    return this.records.commit(tenant, record, quota);
  }

  override get(tenant: Tenant, fileId: string): Promise<FileRecord | undefined> {
    return this.records.get(tenant, fileId);
  }

  override list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>> {
    return this.records.list(tenant, page);
  }

  override delete(tenant: Tenant, fileId: string): Promise<boolean> {
    return this.records.delete(tenant, fileId);
  }

  override used(tenant: Tenant): Promise<FileUsage> {
    return this.records.used(tenant);
  }

  override tenants(): Promise<readonly Tenant[]> {
    return this.records.tenants();
  }

  override createUpload(tenant: Tenant, upload: UploadRecord, quota: FileQuota): Promise<void> {
    return this.records.createUpload(tenant, upload, quota);
  }

  override upload(tenant: Tenant, uploadId: string): Promise<UploadRecord | undefined> {
    return this.records.upload(tenant, uploadId);
  }

  override addPart(tenant: Tenant, uploadId: string, partId: string): Promise<boolean> {
    return this.records.addPart(tenant, uploadId, partId);
  }

  override parts(tenant: Tenant, uploadId: string): Promise<ReadonlyMap<string, number>> {
    return this.records.parts(tenant, uploadId);
  }

  override complete(
    tenant: Tenant,
    uploadId: string,
    partIds: readonly string[],
    record: FileRecord,
    quota: FileQuota,
  ): Promise<boolean> {
    return this.records.complete(tenant, uploadId, partIds, record, quota);
  }

  override cancel(tenant: Tenant, uploadId: string): Promise<boolean> {
    return this.records.cancel(tenant, uploadId);
  }

  override ended(): Promise<readonly EndedFile[]> {
    return this.records.ended();
  }

  override release(file: EndedFile): Promise<void> {
    return this.records.release(file);
  }

  override postpone(file: EndedFile): Promise<void> {
    return this.records.postpone(file);
  }
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** The bytes of an object, read after one another. Throws StoreUnavailableError for an object that goes meanwhile. */
async function* inFull(
  first: readonly Uint8Array[],
  length: number,
  read: (start: number) => Promise<readonly Uint8Array[] | undefined>,
): AsyncGenerator<Uint8Array> {
  let start = 0;
  for (let parts: readonly Uint8Array[] | undefined = first; parts !== undefined; parts = await read(start)) {
    for (const part of parts) {
      start += part.length;
      yield part;
    }
    if (start === length) return;
  }
  throw new StoreUnavailableError('an object of the bucket was deleted while it was read');
}
