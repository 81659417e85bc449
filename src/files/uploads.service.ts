import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { ApiError, IdGenerator } from '../protocol/index.js';
import type { UploadRecord } from '../state/index.js';
import { Clock } from '../time/index.js';
import { FilesService } from './files.service.js';
import type { CompleteUploadBody, CreateUploadBody } from './upload-bodies.js';

/** How long an upload waits for its parts, ms. */
const UPLOAD_MS = 3_600_000;

/** Most bytes of a part. */
const MAX_PART_BYTES = 64 * 1024 * 1024;

/** A part of an upload. */
export interface UploadPart {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** Files that are uploaded in parts, within an hour. Uploads of other tenants are not found: ApiError 404. All methods throw as those of FilesService. */
@Injectable()
export class UploadsService {
  constructor(
    private readonly files: FilesService,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
  ) {}

  /** Begins an upload, which counts as a file. Throws FileQuotaError when the file would not fit. */
  async create(tenant: Tenant, body: CreateUploadBody): Promise<UploadRecord> {
    const { bytes, filename, purpose, mime_type: mimeType, expires_after: expiry } = body;
    const upload: UploadRecord = {
      id: this.ids.next('upload'),
      createdAt: this.clock.nowInSeconds(),
      ...{ bytes, filename, purpose, mimeType },
      expiresAt: this.clock.nowInSeconds() * 1000 + UPLOAD_MS,
      fileTtl: expiry?.seconds ?? null,
      status: 'pending',
      file: null,
    };
    await this.files.store.createUpload(tenant, upload, this.files.quota);
    return upload;
  }

  /** Receives the content of a part, as a draft. Throws ApiError 404, 400 unless the upload is pending and the part has a byte, 413, and FileQuotaError. */
  async receivePart(tenant: Tenant, uploadId: string, content: AsyncIterable<Uint8Array>): Promise<string> {
    await this.pending(tenant, uploadId);
    const { id, bytes } = await this.files.receive(tenant, 'part', content, MAX_PART_BYTES);
    if (bytes === 0) throw invalid('data', 'a part cannot be empty');
    return id;
  }

  /** Drops a part that was received and is not added. */
  discardPart(tenant: Tenant, partId: string): Promise<void> {
    return this.files.discard(tenant, partId);
  }

  /** Adds a part that was received. Throws ApiError 404, and 400 unless the upload is pending; the part is dropped then. */
  async addPart(tenant: Tenant, uploadId: string, partId: string): Promise<UploadPart> {
    try {
      if (!(await this.files.store.addPart(tenant, uploadId, partId))) throw await this.notPending(tenant, uploadId);
    } catch (error) {
      await this.discardPart(tenant, partId);
      throw error;
    }
    return { id: partId, createdAt: this.clock.nowInSeconds() };
  }

  /**
   * Joins parts to a file. Again, it returns what it has returned before. Throws ApiError 404, and 400 unless the upload is pending and the parts
   * have the bytes and the MD5 digest that were announced.
   */
  async complete(tenant: Tenant, uploadId: string, { part_ids: ids, md5 }: CompleteUploadBody): Promise<UploadRecord> {
    const known = await this.get(tenant, uploadId);
    if (known.status === 'completed') return known;
    const upload = await this.pending(tenant, uploadId);
    const parts = await this.files.store.parts(tenant, uploadId);
    if (new Set(ids).size < ids.length) throw invalid('part_ids', 'each part can be named once');
    const missing = ids.findIndex((id) => !parts.has(id));
    if (missing >= 0) throw invalid(`part_ids[${missing}]`, `the upload has no part '${ids[missing]}'`);
    const bytes = ids.reduce((sum, id) => sum + (parts.get(id) ?? 0), 0);
    if (bytes !== upload.bytes) {
      throw invalid('part_ids', `the parts have ${bytes} bytes, and the upload was announced with ${upload.bytes}`);
    }
    const [sha256, digest] = [createHash('sha256'), createHash('md5')];
    for (const id of ids) {
      for await (const piece of this.files.piecesOf(tenant, id, parts.get(id) ?? 0)) {
        sha256.update(piece);
        digest.update(piece);
      }
    }
    if (md5 !== undefined && md5 !== null && md5.toLowerCase() !== digest.digest('hex')) {
      throw invalid('md5', 'the parts have another digest');
    }
    const { filename, purpose, mimeType, fileTtl: ttl } = upload;
    const draft = { id: this.ids.next('file'), bytes, sha256: sha256.digest('hex') };
    const file = this.files.toRecord(draft, { filename, purpose, mimeType, ttl });
    // Another request may have completed it meanwhile.
    const isDone = await this.files.store.complete(tenant, uploadId, ids, file, this.files.quota);
    return isDone ? { ...upload, status: 'completed', file } : this.completed(tenant, uploadId);
  }

  /** Cancels an upload. Throws ApiError 404, and 400 unless it is pending. */
  async cancel(tenant: Tenant, uploadId: string): Promise<UploadRecord> {
    const upload = await this.pending(tenant, uploadId);
    if (!(await this.files.store.cancel(tenant, uploadId))) throw await this.notPending(tenant, uploadId);
    await this.files.free();
    return { ...upload, status: 'cancelled' };
  }

  private async get(tenant: Tenant, uploadId: string): Promise<UploadRecord> {
    const upload = await this.files.store.upload(tenant, uploadId);
    if (upload === undefined) throw ApiError.notFound('Upload', uploadId);
    return upload;
  }

  private async pending(tenant: Tenant, uploadId: string): Promise<UploadRecord> {
    const upload = await this.get(tenant, uploadId);
    if (upload.status !== 'pending') throw ended(upload);
    return upload;
  }

  private async completed(tenant: Tenant, uploadId: string): Promise<UploadRecord> {
    const upload = await this.get(tenant, uploadId);
    if (upload.status !== 'completed') throw ended(upload);
    return upload;
  }

  private async notPending(tenant: Tenant, uploadId: string): Promise<ApiError> {
    return ended(await this.get(tenant, uploadId));
  }
}

function ended({ id, status }: UploadRecord): ApiError {
  return ApiError.badRequest(`Upload '${id}' is ${status}, and can no longer be changed.`, null);
}

function invalid(param: string, reason: string): ApiError {
  return ApiError.of('invalid_value', `Invalid '${param}': ${reason}.`, { param });
}
