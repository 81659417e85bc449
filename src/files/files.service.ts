import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';

import { Inject, Injectable, Logger, Optional } from '@nestjs/common';

import type { Tenant } from '../access/index.js';
import { BodyBudget } from '../http/bodies/index.js';
import { Environment } from '../config/index.js';
import { ApiError, IdGenerator } from '../protocol/index.js';
import {
  type EndedFile,
  type FilePage,
  type FileQuota,
  type FileRecord,
  FileStore,
  LibraryBackend,
  observeCalls,
  type Page,
  Retention,
  StateCallObserver,
  StoreUnavailableError,
  toHash,
} from '../state/index.js';
import { Clock } from '../time/index.js';
import { inPieces, SentPieces } from './pieces.js';

/** What stands for a purge where a file is deleted. */
const NO_PURGE = -1;

/** How long a draft waits for its next piece, ms. */
const DRAFT_MS = 3_600_000;

/** A content that was received, and that nobody sees yet. */
export interface Draft {
  readonly id: string;
  readonly bytes: number;
  /** SHA-256 in hexadecimal digits. */
  readonly sha256: string;
}

/** What a sender says of a file. */
export interface FileDescription {
  readonly filename: string;
  readonly purpose: string;
  readonly mimeType: string | null;
  /** Lifetime in seconds; null: it does not expire. */
  readonly ttl: number | null;
}

/**
 * Is told of a file that its tenant has deleted, before the answer, and of one that has expired, with the next purge (PURGE_INTERVAL_MS). It is told
 * again, with the next purge, where it rejects and where the process dies; replicas may tell at the same time.
 */
export type FileDeletionListener = (tenant: Tenant, fileId: string) => Promise<void>;

/**
 * Files of tenants, of which no more than a piece is in memory at a time; BODY_TOTAL_BYTES bounds those that arrive, and long ones that are sent. Files of other tenants are not found: ApiError 404. All methods throw
 * ApiError 400 `files_not_configured` where no database keeps files, and StoreUnavailableError.
 */
@Injectable()
export class FilesService {
  private readonly listeners = new Set<FileDeletionListener>();
  private readonly logger = new Logger('Files');
  /** Files whose listener has failed, and the purge in which it was called last. */
  private readonly failing = new Map<string, number>();
  private purges = 0;
  private readonly kept: FileStore | undefined;
  private readonly sent: SentPieces;

  constructor(
    library: LibraryBackend,
    retention: Retention,
    private readonly environment: Environment,
    private readonly bodies: BodyBudget,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
    @Optional() @Inject(StateCallObserver) observer: StateCallObserver | null = null,
  ) {
    this.sent = new SentPieces(environment, bodies);
    const { files } = library;
    this.kept = files && observeCalls(files, 'files', observer);
    if (this.kept === undefined) return;
    retention.add(() => this.tellOfEnded());
    retention.add(() => this.store.purge());
    retention.addSlow(async () => (await this.store.sweep?.()) ?? false);
  }

  /** Whether a database keeps files. */
  get isAvailable(): boolean {
    return this.kept !== undefined;
  }

  /** The store of files. Throws ApiError 400 `files_not_configured`. */
  get store(): FileStore {
    if (this.kept !== undefined) return this.kept;
    const message = `This server keeps no files: STATE=${this.environment.STATE} needs VECTOR_STORE_URL for them.`;
    throw ApiError.of('files_not_configured', message);
  }

  /** What a tenant may have stored. */
  get quota(): FileQuota {
    return { bytes: this.environment.FILES_MAX_BYTES, files: this.environment.FILES_MAX_COUNT };
  }

  /** Calls a function for each file that is deleted or has expired from now on. Its content is freed once all such functions have resolved. */
  onDeleted(listener: FileDeletionListener): void {
    this.listeners.add(listener);
  }

  /**
   * Stores a content as a draft. Throws ApiError 413 when it is longer than `mostBytes`, by default FILES_MAX_FILE_BYTES, FileQuotaError,
   * and the errors of the content; nothing is stored then.
   */
  async receive(
    tenant: Tenant,
    prefix: 'file' | 'part',
    content: AsyncIterable<Uint8Array>,
    mostBytes = this.environment.FILES_MAX_FILE_BYTES,
  ): Promise<Draft> {
    const { store } = this;
    const id = this.ids.next(prefix);
    const whole = createHash('sha256');
    const held = this.hold(content);
    let bytes = 0;
    try {
      let position = 0;
      for await (const piece of inPieces(content, store.pieceBytes, held.hold)) {
        bytes += piece.length;
        if (bytes > mostBytes) throw tooLarge(mostBytes);
        whole.update(piece);
        const next = { position, hash: toHash(piece), bytes: piece };
        // A content that does not fit is refused before all of it has come.
        await store.append(tenant, id, next, this.clock.now() + DRAFT_MS, this.quota);
        position += 1;
      }
    } catch (error) {
      await this.discard(tenant, id);
      throw error;
    } finally {
      held.release();
    }
    return { id, bytes, sha256: whole.digest('hex') };
  }

  /** Makes a file of a draft. Throws FileQuotaError; nothing is stored then. */
  async keep(tenant: Tenant, draft: Draft, description: FileDescription): Promise<FileRecord> {
    const record = this.toRecord(draft, description);
    try {
      await this.store.commit(tenant, record, this.quota);
    } catch (error) {
      await this.discard(tenant, draft.id);
      throw error;
    }
    return record;
  }

  /** Drops a draft. Where that fails, the draft goes when its time is over. */
  async discard(tenant: Tenant, draftId: string): Promise<void> {
    await this.store.discard(tenant, draftId).catch(() => undefined);
  }

  /** The record of a content that becomes a file now. */
  toRecord({ id, bytes, sha256 }: Draft, { ttl, ...description }: FileDescription): FileRecord {
    const createdAt = this.clock.nowInSeconds();
    const expiresAt = ttl === null ? null : (createdAt + ttl) * 1000;
    return { id, createdAt, bytes, sha256, expiresAt, ...description };
  }

  /** Throws ApiError 404. */
  async get(tenant: Tenant, fileId: string): Promise<FileRecord> {
    const file = await this.store.get(tenant, fileId);
    if (file === undefined) throw ApiError.notFound('File', fileId);
    return file;
  }

  /** A page of files. Throws UnknownCursorError. */
  list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>> {
    return this.store.list(tenant, page);
  }

  /** Deletes a file, and what was made of it. Throws ApiError 404, also the second time. */
  async delete(tenant: Tenant, fileId: string): Promise<void> {
    const { store } = this;
    if (!(await store.delete(tenant, fileId))) throw ApiError.notFound('File', fileId);
    await this.tell({ tenant, id: fileId });
    await this.free();
  }

  /** Frees what was deleted, and what has expired meanwhile. Objects of a bucket follow in the background. */
  async free(): Promise<void> {
    while (await this.store.purge());
  }

  /** The memory of a content's current piece, in the budget of bodies, which may refuse the content. */
  private hold(content: AsyncIterable<Uint8Array>): {
    readonly hold: (bytes: number) => void;
    readonly release: () => void;
  } {
    let refusal: ApiError | undefined;
    const share = this.bodies.open((error) => {
      refusal = error;
      // The sender may be slow: the next bytes are not waited for.
      if (content instanceof Readable) content.destroy(error);
    });
    const hold = (bytes: number): void => {
      if (refusal === undefined) share.hold(bytes);
      // The share itself may be the one that had to go.
      if (refusal !== undefined) throw refusal;
    };
    return { hold, release: () => share.release() };
  }

  /** Tells of a batch of files that have ended; whether there may be more that were not told of in this purge. */
  private async tellOfEnded(): Promise<boolean> {
    const files = (await this.store.ended()).filter(({ id }) => this.failing.get(id) !== this.purges);
    for (const file of files) await this.tell(file, this.purges);
    if (files.length > 0) return true;
    // Another process has released the rest.
    for (const [id, purge] of this.failing) if (purge !== this.purges) this.failing.delete(id);
    this.purges += 1;
    return false;
  }

  /** Tells of a file that has ended, and lets it be freed. Where a listener fails, the file is postponed. */
  private async tell(file: EndedFile, purge = NO_PURGE): Promise<void> {
    try {
      for (const listener of this.listeners) await listener(file.tenant, file.id);
    } catch (error) {
      // Logged once: the file may be tried for a long time.
      if (!this.failing.has(file.id)) {
        this.logger.error(`what was made of ${file.id} remains, and is tried again with each purge`, error);
      }
      this.failing.set(file.id, purge);
      await this.store.postpone(file);
      return;
    }
    await this.store.release(file);
    this.failing.delete(file.id);
  }

  /** The content of a file as it arrives. Throws ApiError 404, StoreUnavailableError when it is deleted meanwhile, and the reason of the signal. */
  async *read(tenant: Tenant, fileId: string, signal?: AbortSignal): AsyncGenerator<Buffer> {
    const { bytes } = await this.get(tenant, fileId);
    yield* this.piecesOf(tenant, fileId, bytes, signal);
  }

  /** The content of a file or a part with so many bytes. Throws StoreUnavailableError when it is gone, and the reason of the signal. */
  async *piecesOf(tenant: Tenant, contentId: string, bytes: number, signal?: AbortSignal): AsyncGenerator<Buffer> {
    const { store } = this;
    const held = this.sent.open();
    try {
      for (let position = 0, left = bytes; left > 0; position += 1) {
        const piece = await (store.openPiece === undefined
          ? store.piece(tenant, contentId, position)
          : store.openPiece(tenant, contentId, position, (length) => held.next(length), signal));
        if (piece === undefined) throw new StoreUnavailableError(`${contentId} was deleted while it was read`);
        for await (const part of piece instanceof Uint8Array ? [piece] : piece) {
          left -= part.length;
          yield Buffer.from(part.buffer, part.byteOffset, part.byteLength);
        }
      }
    } finally {
      held.release();
    }
  }
}

function tooLarge(most: number): ApiError {
  return ApiError.of('request_too_large', `The file is larger than ${most} bytes, the most that a file may have here.`);
}
