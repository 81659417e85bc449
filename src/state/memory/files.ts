import { type Tenant, tenantKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { StoreUnavailableError, UnknownCursorError } from '../errors.js';
import {
  type EndedFile,
  type FilePage,
  type FilePiece,
  type FileQuota,
  FileQuotaError,
  type FileRecord,
  FileStore,
  type FileUsage,
  requireRoom,
  type UploadRecord,
} from '../file-store.js';
import { type Page, toPage } from '../page.js';

interface Piece {
  readonly bytes: Uint8Array;
  /** How many contents have it. */
  uses: number;
}

/** A draft, a part or a file. */
interface Content {
  readonly tenant: Tenant;
  readonly id: string;
  /** Keys of its pieces. */
  pieces: string[];
  bytes: number;
  /** Unix ms. */
  expiresAt: number;
  /** Of a file. */
  record: FileRecord | null;
  /** Of a part. */
  uploadId: string | null;
  /** Of a file that has ended: whether it may be freed. */
  isReleased: boolean;
}

/** Files in memory. They are not dropped for others: what does not fit is refused. */
export class MemoryFileStore extends FileStore {
  private readonly contents = new Map<string, Content>();
  private readonly uploads = new Map<string, { readonly tenant: Tenant; readonly upload: UploadRecord }>();
  private readonly pieces = new Map<string, Piece>();
  private bytes = 0;

  /** `capacity`: the most bytes of all pieces. */
  constructor(
    private readonly clock: Clock,
    private readonly capacity: number,
  ) {
    super();
  }

  /** Bytes of all pieces. */
  get size(): number {
    return this.bytes;
  }

  override async append(tenant: Tenant, draftId: string, piece: FilePiece, expiresAt: number, quota: FileQuota) {
    const { bytes, files } = this.usedBy(tenant);
    requireRoom({ bytes: bytes + piece.bytes.length, files }, quota);
    const key = tenantKey(tenant, piece.hash);
    const known = this.pieces.get(key);
    if (known === undefined && this.bytes + piece.bytes.length > this.capacity) throw new FileQuotaError('memory');
    if (known === undefined) {
      this.pieces.set(key, { bytes: piece.bytes, uses: 1 });
      this.bytes += piece.bytes.length;
    } else known.uses += 1;
    const draft = this.contents.get(tenantKey(tenant, draftId)) ?? this.add(tenant, draftId);
    draft.pieces.push(key);
    draft.bytes += piece.bytes.length;
    draft.expiresAt = expiresAt;
  }

  override async discard(tenant: Tenant, draftId: string): Promise<void> {
    const draft = this.contents.get(tenantKey(tenant, draftId));
    if (draft !== undefined && draft.record === null && draft.uploadId === null) this.free(draft);
  }

  override async commit(tenant: Tenant, record: FileRecord, quota: FileQuota): Promise<void> {
    const draft = this.contents.get(tenantKey(tenant, record.id));
    if ((draft?.bytes ?? 0) !== record.bytes) throw new StoreUnavailableError(`the draft ${record.id} is gone`);
    // Nothing is awaited between this check and the write, so that the quota holds.
    const { bytes, files } = this.usedBy(tenant);
    requireRoom({ bytes, files: files + 1 }, quota);
    this.show(draft ?? this.add(tenant, record.id), record);
  }

  override async get(tenant: Tenant, fileId: string): Promise<FileRecord | undefined> {
    const content = this.contents.get(tenantKey(tenant, fileId));
    return content !== undefined && this.isAlive(content) ? (content.record ?? undefined) : undefined;
  }

  override async list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>> {
    const isAfter = (a: FileRecord, b: FileRecord): boolean =>
      a.createdAt === b.createdAt ? a.id > b.id : a.createdAt > b.createdAt;
    const sign = page.order === 'asc' ? 1 : -1;
    const cursor = page.after === undefined ? null : this.contents.get(tenantKey(tenant, page.after))?.record;
    if (cursor === undefined || (page.after !== undefined && cursor === null)) throw new UnknownCursorError(page);
    const found: FileRecord[] = [];
    for (const content of this.contents.values()) {
      const { record } = content;
      if (content.tenant !== tenant || record === null || !this.isAlive(content)) continue;
      if (page.purpose !== undefined && record.purpose !== page.purpose) continue;
      if (cursor === null || (record.id !== cursor.id && isAfter(record, cursor) === sign > 0)) found.push(record);
    }
    found.sort((a, b) => (isAfter(a, b) ? sign : -sign));
    return toPage(found, page);
  }

  override async delete(tenant: Tenant, fileId: string): Promise<boolean> {
    if ((await this.get(tenant, fileId)) === undefined) return false;
    const content = this.contents.get(tenantKey(tenant, fileId));
    if (content !== undefined) content.expiresAt = this.clock.now();
    return true;
  }

  override async piece(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | undefined> {
    const content = this.contents.get(tenantKey(tenant, contentId));
    if (content === undefined || !this.isAlive(content)) return undefined;
    return this.pieces.get(content.pieces[position] ?? '')?.bytes;
  }

  override async used(tenant: Tenant): Promise<FileUsage> {
    return this.usedBy(tenant);
  }

  override async tenants(): Promise<readonly Tenant[]> {
    const files = [...this.contents.values()].filter((content) => content.record !== null && this.isAlive(content));
    return [...new Set(files.map(({ tenant }) => tenant))];
  }

  override async createUpload(tenant: Tenant, upload: UploadRecord, quota: FileQuota): Promise<void> {
    const { bytes, files } = this.usedBy(tenant);
    requireRoom({ bytes: bytes + upload.bytes, files: files + 1 }, quota);
    this.keep(tenant, upload);
  }

  override async upload(tenant: Tenant, uploadId: string): Promise<UploadRecord | undefined> {
    return this.find(tenant, uploadId);
  }

  override async addPart(tenant: Tenant, uploadId: string, partId: string): Promise<boolean> {
    const upload = this.find(tenant, uploadId);
    if (upload?.status !== 'pending') return false;
    const part = this.contents.get(tenantKey(tenant, partId));
    if (part === undefined) throw new StoreUnavailableError(`the draft ${partId} is gone`);
    part.uploadId = uploadId;
    part.expiresAt = upload.expiresAt;
    return true;
  }

  override async parts(tenant: Tenant, uploadId: string): Promise<ReadonlyMap<string, number>> {
    return new Map([...this.partsOf(tenant, uploadId)].map(({ id, bytes }) => [id, bytes]));
  }

  override async complete(
    tenant: Tenant,
    uploadId: string,
    partIds: readonly string[],
    record: FileRecord,
    quota: FileQuota,
  ): Promise<boolean> {
    const upload = this.find(tenant, uploadId);
    const parts = new Map([...this.partsOf(tenant, uploadId)].map((part) => [part.id, part]));
    const joined = partIds.map((id) => parts.get(id));
    if (upload?.status !== 'pending' || !joined.every((part) => part !== undefined)) return false;
    const bytes = joined.reduce((sum, part) => sum + part.bytes, 0);
    if (bytes !== record.bytes) return false;
    // The parts and the upload itself count already.
    requireRoom(this.usedBy(tenant), quota);
    const file = this.add(tenant, record.id);
    for (const part of joined) {
      file.pieces.push(...part.pieces);
      part.pieces = [];
    }
    file.bytes = bytes;
    this.show(file, record);
    for (const part of parts.values()) this.free(part);
    this.keep(tenant, { ...upload, status: 'completed', file: record });
    return true;
  }

  override async cancel(tenant: Tenant, uploadId: string): Promise<boolean> {
    const upload = this.find(tenant, uploadId);
    if (upload?.status !== 'pending') return false;
    this.keep(tenant, { ...upload, status: 'cancelled' });
    for (const part of [...this.partsOf(tenant, uploadId)]) this.free(part);
    return true;
  }

  override async ended(): Promise<readonly EndedFile[]> {
    return [...this.contents.values()]
      .filter((content) => content.record !== null && !content.isReleased && !this.isAlive(content))
      .sort((a, b) => a.expiresAt - b.expiresAt)
      .map(({ tenant, id }) => ({ tenant, id }));
  }

  override async release({ tenant, id }: EndedFile): Promise<void> {
    const content = this.contents.get(tenantKey(tenant, id));
    if (content !== undefined && content.record !== null && !this.isAlive(content)) content.isReleased = true;
  }

  override async postpone({ tenant, id }: EndedFile): Promise<void> {
    const content = this.contents.get(tenantKey(tenant, id));
    if (content !== undefined && content.record !== null && !this.isAlive(content))
      content.expiresAt = this.clock.now();
  }

  override async purge(): Promise<boolean> {
    const now = this.clock.now();
    for (const [key, { upload }] of this.uploads) if (upload.expiresAt <= now) this.uploads.delete(key);
    for (const content of [...this.contents.values()]) {
      if (!this.isAlive(content) && (content.record === null || content.isReleased)) this.free(content);
    }
    return false;
  }

  private usedBy(tenant: Tenant): FileUsage {
    let [bytes, files] = [0, 0];
    for (const content of this.contents.values()) {
      if (content.tenant !== tenant || !this.isAlive(content)) continue;
      bytes += content.bytes;
      if (content.record !== null) files += 1;
    }
    const now = this.clock.now();
    for (const { tenant: owner, upload } of this.uploads.values()) {
      if (owner === tenant && upload.status === 'pending' && upload.expiresAt > now) files += 1;
    }
    return { bytes, files };
  }

  private keep(tenant: Tenant, upload: UploadRecord): void {
    this.uploads.set(tenantKey(tenant, upload.id), { tenant, upload });
  }

  private find(tenant: Tenant, uploadId: string): UploadRecord | undefined {
    const upload = this.uploads.get(tenantKey(tenant, uploadId))?.upload;
    return upload !== undefined && upload.expiresAt > this.clock.now() ? upload : undefined;
  }

  private add(tenant: Tenant, id: string): Content {
    const content = { tenant, id, pieces: [], bytes: 0, expiresAt: 0, record: null, uploadId: null, isReleased: false };
    this.contents.set(tenantKey(tenant, id), content);
    return content;
  }

  private show(content: Content, record: FileRecord): void {
    content.record = record;
    content.expiresAt = record.expiresAt ?? Infinity;
  }

  private isAlive({ expiresAt }: Content): boolean {
    return expiresAt > this.clock.now();
  }

  private *partsOf(tenant: Tenant, uploadId: string): Generator<Content> {
    for (const content of this.contents.values()) {
      if (content.uploadId === uploadId && content.tenant === tenant && this.isAlive(content)) yield content;
    }
  }

  /** Frees the pieces of a content; a file remains a cursor of lists for a while. */
  private free(content: Content): void {
    for (const key of content.pieces) {
      const piece = this.pieces.get(key);
      if (piece === undefined) continue;
      piece.uses -= 1;
      if (piece.uses > 0) continue;
      this.pieces.delete(key);
      this.bytes -= piece.bytes.length;
    }
    content.pieces = [];
    if (content.record !== null && content.expiresAt > this.clock.now() - BOOKMARK_MS) return;
    this.contents.delete(tenantKey(content.tenant, content.id));
  }
}
