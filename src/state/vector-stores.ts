import type { Tenant } from '../access/index.js';
import type { Page, PageRequest } from './page.js';
import type { Attributes } from './vector-index.js';

/** A vector store as it is stored, without its files. */
export interface VectorStoreRecord {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly name: string | null;
  readonly description: string | null;
  readonly metadata: Readonly<Record<string, string>>;
  /** Days after its last use when it expires; null: it does not. */
  readonly expiresAfterDays: number | null;
  /** Unix seconds. */
  readonly lastActiveAt: number;
  /** What has made its vectors: those of different models do not compare. */
  readonly embeddingModel: string;
}

/** What may change in a vector store. */
export type VectorStoreChange = Partial<Omit<VectorStoreRecord, 'id' | 'createdAt' | 'embeddingModel'>>;

/** How a text is cut where nothing says it, tokens. */
export const DEFAULT_CHUNKING = { size: 800, overlap: 400 };

/** How far a file is. */
export type StoreFileStatus = 'in_progress' | 'completed' | 'failed' | 'cancelled';

/** A file in a vector store. */
export interface StoreFile {
  readonly storeId: string;
  readonly fileId: string;
  /** Unix seconds: when it was added. */
  readonly createdAt: number;
  /** The batch that has added it. */
  readonly batchId: string | null;
  /** The key that has added it, for which its vectors count; null: none. */
  readonly keyId: string | null;
  readonly attributes: Attributes;
  /** How its text is cut, in tokens. */
  readonly chunking: { readonly size: number; readonly overlap: number };
  readonly status: StoreFileStatus;
  /** Why it has failed. */
  readonly error: { readonly code: string; readonly message: string } | null;
  /** What those of its chunks take that searches find: from before, while it is indexed again. */
  readonly bytes: number;
}

/** A file that this process indexes. */
export interface ClaimedFile extends StoreFile {
  readonly tenant: Tenant;
  /** Greater than that of every claim before, of any file: it fences off earlier ones. */
  readonly attempt: number;
  /** Whether what is stored of it is damaged: it is to fail. */
  readonly isDamaged?: true;
  /** How often it was claimed since it was added, now included. Claims that were given back do not count. */
  readonly tries: number;
}

/** A store whose files are not claimed for now. */
export interface HeldStore {
  readonly tenant: Tenant;
  readonly storeId: string;
}

/** What has become of a file. */
export type StoreFileOutcome = Pick<StoreFile, 'status' | 'error' | 'bytes'>;

/** Files that were added together. */
export interface StoreBatch {
  readonly id: string;
  readonly storeId: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly isCancelled: boolean;
}

/** How many files of a store, or of a batch, have which status. */
export type StoreFileCounts = Readonly<Record<StoreFileStatus, number>> & {
  /** Of all of them. */
  readonly bytes: number;
};

/** What a tenant has stored. */
export interface VectorStoreUsage {
  readonly stores: number;
  /** Of the chunks of all files, with what is set aside for those that are being indexed. */
  readonly bytes: number;
}

/** A page of the files in a store: of one status, or of one batch. Cursors are ids of files. */
export type StoreFilePage = PageRequest & { readonly status?: StoreFileStatus; readonly batchId?: string };

/** When a vector store expires, Unix ms; null: it does not. */
export function expiryOf({ expiresAfterDays, lastActiveAt }: VectorStoreRecord): number | null {
  return expiresAfterDays === null ? null : (lastActiveAt + expiresAfterDays * 86_400) * 1000;
}

/** Whether a vector store has expired. `now`: Unix ms. */
export function isExpired(store: VectorStoreRecord, now: number): boolean {
  return (expiryOf(store) ?? Infinity) <= now;
}

/** Whether searches find nothing of a file, nor what it was before. */
export function isUnfound({ status }: Pick<StoreFile, 'status'>): boolean {
  return status === 'failed' || status === 'cancelled';
}

/** A file that waits, in the line of its tenant. */
export interface WaitingFile {
  /** Where it stands in the line, from 0. */
  readonly turn: number;
  /** The attempt of the last claim of any file of the tenant. */
  readonly served: number;
  /** Where it stands among all files. */
  readonly place: number;
}

/** Files that wait in the order in which they are claimed: tenants in turn, who was served longest ago first. */
export function inTurn<T extends WaitingFile>(files: readonly T[]): T[] {
  return files.toSorted((one, other) => one.turn - other.turn || one.served - other.served || one.place - other.place);
}

/**
 * Vector stores of tenants, the files in them, and which of these wait to be indexed. Lists are in the order of creation, and then of ids. A
 * store that has expired can be read, until it is deleted, and never changes again. Documents of the index are forgotten in the same moment as
 * their file or store, so that one that is added again meanwhile loses nothing. All methods throw StoreUnavailableError.
 */
export abstract class VectorStoreRecords {
  /** Creates a store, in place of one that was deleted. False, and nothing is created, for a tenant that has `most`. */
  abstract create(tenant: Tenant, store: VectorStoreRecord, most: number): Promise<boolean>;

  /** A store; undefined if there is none. */
  abstract get(tenant: Tenant, storeId: string): Promise<VectorStoreRecord | undefined>;

  /** Throws UnknownCursorError. */
  abstract list(tenant: Tenant, page: PageRequest): Promise<Page<VectorStoreRecord>>;

  /** The store as it is now; undefined if there is none that is alive. Members that are absent stay. */
  abstract change(tenant: Tenant, storeId: string, change: VectorStoreChange): Promise<VectorStoreRecord | undefined>;

  /** Deletes a store, its files and its batches, and forgets its documents. False if there is no such store. */
  abstract delete(tenant: Tenant, storeId: string): Promise<boolean>;

  /**
   * Adds files to a store, all of them or none, with the batch that has them. One that is there already is replaced, claims of it end, and
   * its bytes count until it is settled. False if there is no such store that is alive.
   */
  abstract add(
    tenant: Tenant,
    storeId: string,
    files: readonly StoreFile[],
    batch: StoreBatch | null,
  ): Promise<boolean>;

  /** A file in a store; undefined if it has none such. */
  abstract file(tenant: Tenant, storeId: string, fileId: string): Promise<StoreFile | undefined>;

  /** Throws UnknownCursorError. */
  abstract files(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoreFile>>;

  /** Of a store, or of a batch in it. */
  abstract count(tenant: Tenant, storeId: string, batchId?: string): Promise<StoreFileCounts>;

  /** Replaces the attributes of a file; the file as it is now, undefined if there is none. */
  abstract describe(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    attributes: Attributes,
  ): Promise<StoreFile | undefined>;

  /** Takes a file out of a store, and forgets its document. False if it has none such. */
  abstract detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean>;

  /** The stores that have a file. */
  abstract storesOf(tenant: Tenant, fileId: string): Promise<readonly string[]>;

  /** A batch of a store; undefined if there is none. */
  abstract batch(tenant: Tenant, storeId: string, batchId: string): Promise<StoreBatch | undefined>;

  /**
   * Cancels those files of a batch that are in progress, and the batch, and forgets the documents of these files. Their ids; undefined if
   * there is no such batch.
   */
  abstract cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<readonly string[] | undefined>;

  /**
   * Claims files in progress, of tenants in turn, and of each those that were added first: no one else gets them until `until` (Unix ms).
   * Files that others have claimed until `now` or before are among them, and none of stores that are held back.
   */
  abstract claim(
    most: number,
    now: number,
    until: number,
    heldBack?: readonly HeldStore[],
  ): Promise<readonly ClaimedFile[]>;

  /**
   * Sets aside what the chunks of a file take that is being indexed, in place of what it has, until it is settled, given back or claimed
   * again: of all files of its tenant within `most` bytes. `full`: nothing is set aside; `lost`: it is not claimed by this attempt any more, or is not
   * in progress.
   */
  abstract reserve(claimed: ClaimedFile, bytes: number, most: number): Promise<'reserved' | 'full' | 'lost'>;

  /** Claims a file for longer. False if it is not claimed by this attempt any more, or is not in progress. */
  abstract renew(claimed: ClaimedFile, until: number): Promise<boolean>;

  /**
   * Ends a claim, which does not count as a try; nobody gets the file before `notBefore` (Unix ms). False if it is not claimed by this
   * attempt any more, or is not in progress.
   */
  abstract giveBack(claimed: ClaimedFile, notBefore: number): Promise<boolean>;

  /**
   * Writes what has become of a file, and forgets the document of one that is not to be found. False, and nothing is written, if it is not
   * claimed by this attempt any more, or is not in progress.
   */
  abstract settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Promise<boolean>;

  abstract used(tenant: Tenant): Promise<VectorStoreUsage>;

  /** The tenants that have stores. Throws StateTransferError for one whose name is not known any more. */
  abstract tenants(): Promise<readonly Tenant[]>;

  /**
   * Frees a batch of what nobody can find any more: what was written of files and stores as they ended, the documents and files of stores that
   * have expired, and batches without files. Whether there may be more.
   */
  abstract purge(): Promise<boolean>;
}

/** The counts of no files. */
export const NO_STORE_FILES: StoreFileCounts = { in_progress: 0, completed: 0, failed: 0, cancelled: 0, bytes: 0 };
