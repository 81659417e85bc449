import { hash } from 'node:crypto';

import type { Tenant } from '../access/index.js';
import { ApiError } from '../protocol/index.js';
import { StateError, StoreUnavailableError } from './errors.js';
import type { Page, PageRequest } from './page.js';

/** Most bytes of a piece in a database: files are stored and read piece by piece. */
export const PIECE_BYTES = 256 * 1024;

/** A file as it is stored, without its content. */
export interface FileRecord {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly bytes: number;
  readonly filename: string;
  readonly purpose: string;
  /** The media type that its sender has named. */
  readonly mimeType: string | null;
  /** SHA-256 of the content, in hexadecimal digits. */
  readonly sha256: string;
  /** Unix ms; null: it does not expire. */
  readonly expiresAt: number | null;
}

/** Where a piece of a content belongs. */
export interface PiecePlace {
  /** The place of the piece in its file, from 0. */
  readonly position: number;
  /** SHA-256 of its bytes in hexadecimal digits: equal pieces of a tenant are stored once. */
  readonly hash: string;
}

/** A part of a content, up to as many bytes as the store takes. */
export interface FilePiece extends PiecePlace {
  readonly bytes: Uint8Array;
}

/** The bytes of a piece, which are in a bucket. */
export interface StoredObject {
  /** The name of the object. It is used once, so that whoever deletes the object never deletes the bytes of another piece. */
  readonly object: string;
  readonly length: number;
}

/** A file that is uploaded in parts. */
export interface UploadRecord {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  /** The bytes that all parts must have together. */
  readonly bytes: number;
  readonly filename: string;
  readonly purpose: string;
  readonly mimeType: string;
  /** Unix ms. */
  readonly expiresAt: number;
  /** Lifetime of the file in seconds; null: it does not expire. */
  readonly fileTtl: number | null;
  readonly status: 'pending' | 'completed' | 'cancelled';
  /** The file that it has become. */
  readonly file: FileRecord | null;
}

/** A page of files, of one purpose or of all. */
export type FilePage = Omit<PageRequest, 'before'> & { readonly purpose?: string };

/** What a tenant has stored. */
export interface FileUsage {
  /** Also of what is being written, and of parts. A content that several files have counts for each. */
  readonly bytes: number;
  /** Also uploads that are pending, which become files. */
  readonly files: number;
}

/** What a tenant may have stored. */
export type FileQuota = FileUsage;

/** A file that was deleted, or has expired. */
export interface EndedFile {
  readonly tenant: Tenant;
  readonly id: string;
}

/** A file does not fit: nothing of it is stored. */
export class FileQuotaError extends StateError {
  override readonly name = 'FileQuotaError';

  constructor(private readonly bound: 'bytes' | 'files' | 'memory') {
    super('there is no room for the file');
  }

  override toApiError(): ApiError {
    const messages = {
      bytes: 'Your files have reached the limit of bytes that you may store. Delete some, and retry your request.',
      files: 'You have reached the limit of files that you may store. Delete some, and retry your request.',
      memory: 'The server keeps files in its memory, and has no room for this one.',
    };
    return ApiError.of('file_quota_exceeded', messages[this.bound]);
  }
}

/**
 * Files of tenants. A content is written as a draft, piece by piece, which nobody sees until it becomes a file or a part of an upload. Pieces are
 * counted: each is freed with the last content that has it. What has expired or was deleted is invisible at once, and freed by `purge`, a file
 * once it is released.
 * All methods throw StoreUnavailableError.
 */
export abstract class FileStore {
  /** Most bytes of a piece. */
  readonly pieceBytes: number = PIECE_BYTES;

  /** Lets the bytes of pieces be in a bucket; without it they are where this store keeps them. */
  readonly objects?: ObjectRecords;

  /**
   * Stores the next piece of a draft, which is dropped at `expiresAt` (Unix ms) unless more follows. The quota includes it. Throws
   * FileQuotaError, of drafts that grow at once perhaps for more than had to be refused; the caller discards the draft then, which may have
   * the piece.
   */
  abstract append(
    tenant: Tenant,
    draftId: string,
    piece: FilePiece,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void>;

  /** Drops a draft; one that is not there is none. */
  abstract discard(tenant: Tenant, draftId: string): Promise<void>;

  /**
   * Makes a file of the draft with its id, as long as the record says: an empty one needs no draft. The quota includes it. Throws
   * FileQuotaError; the draft is still there then.
   */
  abstract commit(tenant: Tenant, record: FileRecord, quota: FileQuota): Promise<void>;

  /** A file; undefined if there is none. */
  abstract get(tenant: Tenant, fileId: string): Promise<FileRecord | undefined>;

  /** Files in the order of their creation. Throws UnknownCursorError. */
  abstract list(tenant: Tenant, page: FilePage): Promise<Page<FileRecord>>;

  /** False if there is no such file. */
  abstract delete(tenant: Tenant, fileId: string): Promise<boolean>;

  /** A piece of a file or a part; undefined beyond the last one, and once it was deleted. */
  abstract piece(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | undefined>;

  /**
   * As `piece`, for stores with long pieces: it reads as many bytes at once as `mostBytes` says then, and the next ones when these are taken. The
   * signal ends it.
   */
  openPiece?(
    tenant: Tenant,
    contentId: string,
    position: number,
    mostBytes: (left: number) => number,
    signal?: AbortSignal,
  ): Promise<AsyncIterable<Uint8Array> | undefined>;

  abstract used(tenant: Tenant): Promise<FileUsage>;

  /** The tenants that have files. Throws StateTransferError for one whose name is not known any more. */
  abstract tenants(): Promise<readonly Tenant[]>;

  /** Stores an upload without parts. The quota includes the file that it announces. Throws FileQuotaError; nothing is stored then. */
  abstract createUpload(tenant: Tenant, upload: UploadRecord, quota: FileQuota): Promise<void>;

  /** An upload; undefined if there is none, or it has expired. */
  abstract upload(tenant: Tenant, uploadId: string): Promise<UploadRecord | undefined>;

  /** Makes a part of the draft with its id; it expires with its upload. False unless the upload is pending. */
  abstract addPart(tenant: Tenant, uploadId: string, partId: string): Promise<boolean>;

  /** The bytes of the parts of an upload, by their ids. */
  abstract parts(tenant: Tenant, uploadId: string): Promise<ReadonlyMap<string, number>>;

  /**
   * Joins parts of an upload, in this order, to a file as long as the record says; the other parts go. False unless it is pending and has
   * all of them. Throws FileQuotaError.
   */
  abstract complete(
    tenant: Tenant,
    uploadId: string,
    partIds: readonly string[],
    record: FileRecord,
    quota: FileQuota,
  ): Promise<boolean>;

  /** Cancels an upload, whose parts go. False unless it is pending. */
  abstract cancel(tenant: Tenant, uploadId: string): Promise<boolean>;

  /** A batch of the files of all tenants that have ended and are not released, in the order of their ends. */
  abstract ended(): Promise<readonly EndedFile[]>;

  /** Lets `purge` free a file that has ended. A file that is not there, or has not ended, stays as it is. */
  abstract release(file: EndedFile): Promise<void>;

  /** Puts a file that has ended behind all that have ended until now: it could not be released. Others stay as they are. */
  abstract postpone(file: EndedFile): Promise<void>;

  /** Frees a batch of what has expired or was deleted; whether there may be more. */
  abstract purge(): Promise<boolean>;

  /**
   * Deletes a batch of what `purge` leaves outside of the database, such as objects of a bucket; whether some are gone, so that there may be more. The rest is
   * tried again with the next call. It may take long: no request waits for it.
   */
  sweep?(): Promise<boolean>;
}

/**
 * What a database knows of pieces whose bytes are in a bucket. An object is planned before it is written, and is in the plan or has a piece until it is
 * deleted: wherever a process dies, nothing is left in the bucket that nobody knows of. All methods throw StoreUnavailableError.
 */
export abstract class ObjectRecords {
  /** Plans an object that is written next. It is due for deletion at a time (Unix ms), unless a piece has it by then. */
  abstract plan(object: string, dueAt: number): Promise<void>;

  /**
   * As `FileStore.append`, for bytes that the tenant has already. Gives the object that has them, null where the database has, and undefined where the tenant
   * has no such bytes: nothing is appended then. Throws FileQuotaError in all cases.
   */
  abstract appendKnown(
    tenant: Tenant,
    draftId: string,
    piece: PiecePlace & { readonly length: number },
    expiresAt: number,
    quota: FileQuota,
  ): Promise<string | null | undefined>;

  /**
   * As `FileStore.append`, for an object that was planned and written. Where the tenant has got an equal piece meanwhile, it is used, and the object is due at
   * once. Throws StoreUnavailableError where its deletion may have begun; nothing is appended then.
   */
  abstract append(
    tenant: Tenant,
    draftId: string,
    piece: PiecePlace & StoredObject,
    expiresAt: number,
    quota: FileQuota,
  ): Promise<void>;

  /**
   * Gives the piece with a hash another object, which was planned and written, in place of one that the bucket has lost. Where it has another meanwhile, the
   * object is due at once. Throws StoreUnavailableError where the object's deletion may have begun; nothing is changed then.
   */
  abstract replace(tenant: Tenant, hash: string, lost: string, object: string): Promise<void>;

  /** As `FileStore.piece`: its bytes, or the object that has them. */
  abstract find(tenant: Tenant, contentId: string, position: number): Promise<Uint8Array | StoredObject | undefined>;

  /** A batch of objects that are due, those last that were in a batch before. From now on no piece can have them: they may be deleted. */
  abstract due(): Promise<readonly string[]>;

  /** Forgets objects that were deleted. */
  abstract forget(objects: readonly string[]): Promise<void>;
}

/** Why a piece cannot be read where no bucket is configured. */
export class NoBucketError extends StoreUnavailableError {
  override readonly name = 'NoBucketError';

  constructor() {
    super('the bytes of a file are in a bucket, and S3_BUCKET names none');
  }
}

/** Throws FileQuotaError when there is more than there may be. */
export function requireRoom(used: FileUsage, quota: FileQuota): void {
  if (used.bytes > quota.bytes) throw new FileQuotaError('bytes');
  if (used.files > quota.files) throw new FileQuotaError('files');
}

/** SHA-256 of bytes in hexadecimal digits: the hash of a piece. */
export function toHash(bytes: Uint8Array): string {
  return hash('sha256', bytes);
}
