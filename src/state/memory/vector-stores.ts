import { type Tenant, tenantKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { UnknownCursorError } from '../errors.js';
import { isForward, type Page, type PageRequest } from '../page.js';
import type { Attributes } from '../vector-index.js';
import {
  type ClaimedFile,
  expiryOf,
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFileOutcome,
  type StoreFilePage,
  type VectorStoreChange,
  type VectorStoreRecord,
  VectorStoreRecords,
  type VectorStoreUsage,
} from '../vector-stores.js';
import type { MemoryVectorIndex } from './vectors.js';

/** What stays for a while where it was deleted, as a cursor of lists. */
interface Listed {
  /** Unix ms; null while it is there. */
  goneAt: number | null;
}

interface FileEntry extends Listed {
  file: StoreFile;
  attempt: number;
  /** Unix ms: until when it is claimed. */
  until: number;
}

interface StoreEntry extends Listed {
  readonly tenant: Tenant;
  record: VectorStoreRecord;
  readonly files: Map<string, FileEntry>;
  readonly batches: Map<string, StoreBatch>;
}

/** Vector stores in memory. */
export class MemoryVectorStores extends VectorStoreRecords {
  private readonly stores = new Map<string, StoreEntry>();

  constructor(
    private readonly index: MemoryVectorIndex,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async create(tenant: Tenant, record: VectorStoreRecord): Promise<void> {
    const entry = { tenant, record, files: new Map(), batches: new Map(), goneAt: null };
    this.stores.set(tenantKey(tenant, record.id), entry);
  }

  override async get(tenant: Tenant, storeId: string): Promise<VectorStoreRecord | undefined> {
    return this.find(tenant, storeId)?.record;
  }

  override async list(tenant: Tenant, page: PageRequest): Promise<Page<VectorStoreRecord>> {
    const entries = [...this.stores.values()].filter((entry) => entry.tenant === tenant);
    return toPage(entries, page, ({ record }) => [record, record.id]);
  }

  override async change(
    tenant: Tenant,
    storeId: string,
    change: VectorStoreChange,
  ): Promise<VectorStoreRecord | undefined> {
    const entry = this.find(tenant, storeId);
    if (entry === undefined) return undefined;
    entry.record = { ...entry.record, ...change };
    return entry.record;
  }

  override async delete(tenant: Tenant, storeId: string): Promise<boolean> {
    const entry = this.find(tenant, storeId);
    if (entry === undefined) return false;
    entry.goneAt = this.clock.now();
    entry.files.clear();
    entry.batches.clear();
    return true;
  }

  override async add(
    tenant: Tenant,
    storeId: string,
    files: readonly StoreFile[],
    batch: StoreBatch | null,
  ): Promise<boolean> {
    const entry = this.find(tenant, storeId);
    if (entry === undefined) return false;
    for (const file of files) {
      const known = entry.files.get(file.fileId)?.file.status;
      // Nobody works on one that is done.
      const isDone = known === 'completed' || known === 'failed';
      const attempt = isDone ? 0 : (entry.files.get(file.fileId)?.attempt ?? 0);
      // What comes last is also claimed last.
      entry.files.delete(file.fileId);
      entry.files.set(file.fileId, { file, attempt, until: 0, goneAt: null });
    }
    if (batch !== null) entry.batches.set(batch.id, batch);
    return true;
  }

  override async file(tenant: Tenant, storeId: string, fileId: string): Promise<StoreFile | undefined> {
    return this.findFile(tenant, storeId, fileId)?.file;
  }

  override async files(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoreFile>> {
    const { status, batchId } = page;
    const isListed = ({ file, goneAt }: FileEntry): boolean =>
      goneAt !== null ||
      ((status === undefined || file.status === status) && (batchId === undefined || file.batchId === batchId));
    const entries = [...(this.find(tenant, storeId)?.files.values() ?? [])];
    const isCursor = ({ file }: FileEntry): boolean => file.fileId === (page.after ?? page.before);
    const listed = entries.filter((entry) => isListed(entry) || isCursor(entry));
    return toPage(listed, page, ({ file }) => [file, file.fileId], isListed);
  }

  override async count(tenant: Tenant, storeId: string, batchId?: string): Promise<StoreFileCounts> {
    const counts = { ...NO_STORE_FILES };
    for (const { file, goneAt } of this.find(tenant, storeId)?.files.values() ?? []) {
      if (goneAt !== null || (batchId !== undefined && file.batchId !== batchId)) continue;
      counts[file.status] += 1;
      counts.bytes += file.bytes;
    }
    return counts;
  }

  override async describe(
    tenant: Tenant,
    storeId: string,
    fileId: string,
    attributes: Attributes,
  ): Promise<StoreFile | undefined> {
    const entry = this.findFile(tenant, storeId, fileId);
    if (entry === undefined) return undefined;
    entry.file = { ...entry.file, attributes };
    return entry.file;
  }

  override async detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean> {
    const entry = this.findFile(tenant, storeId, fileId);
    if (entry === undefined) return false;
    entry.goneAt = this.clock.now();
    return true;
  }

  override async storesOf(tenant: Tenant, fileId: string): Promise<readonly string[]> {
    const entries = [...this.stores.values()].filter((entry) => entry.tenant === tenant);
    return entries.filter(({ files }) => files.get(fileId)?.goneAt === null).map(({ record }) => record.id);
  }

  override async batch(tenant: Tenant, storeId: string, batchId: string): Promise<StoreBatch | undefined> {
    return this.find(tenant, storeId)?.batches.get(batchId);
  }

  override async cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<boolean> {
    const entry = this.find(tenant, storeId);
    const batch = entry?.batches.get(batchId);
    if (entry === undefined || batch === undefined) return false;
    entry.batches.set(batchId, { ...batch, isCancelled: true });
    for (const each of entry.files.values()) {
      const { file } = each;
      if (file.batchId === batchId && file.status === 'in_progress') each.file = { ...file, status: 'cancelled' };
    }
    return true;
  }

  override async claim(most: number, now: number, until: number): Promise<readonly ClaimedFile[]> {
    const waiting = [...this.stores.values()]
      .flatMap(({ tenant, files }) => [...files.values()].map((entry) => ({ tenant, entry })))
      .filter(({ entry }) => entry.goneAt === null && entry.file.status === 'in_progress' && entry.until <= now)
      .sort((one, other) => one.entry.file.createdAt - other.entry.file.createdAt);
    return waiting.slice(0, most).map(({ tenant, entry }) => {
      entry.attempt += 1;
      entry.until = until;
      return { ...entry.file, tenant, attempt: entry.attempt };
    });
  }

  override async renew(claimed: ClaimedFile, until: number): Promise<boolean> {
    const entry = this.findClaimed(claimed);
    if (entry === undefined) return false;
    entry.until = until;
    return true;
  }

  override async settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Promise<boolean> {
    const entry = this.findClaimed(claimed);
    if (entry === undefined) return false;
    entry.file = { ...entry.file, ...outcome };
    return true;
  }

  override async used(tenant: Tenant): Promise<VectorStoreUsage> {
    const own = [...this.stores.values()].filter((entry) => entry.tenant === tenant && entry.goneAt === null);
    const counts = await Promise.all(own.map(({ record }) => this.count(tenant, record.id)));
    return { stores: own.length, bytes: counts.reduce((sum, { bytes }) => sum + bytes, 0) };
  }

  override async tenants(): Promise<readonly Tenant[]> {
    const there = [...this.stores.values()].filter(({ goneAt }) => goneAt === null);
    return [...new Set(there.map(({ tenant }) => tenant))];
  }

  override async purge(): Promise<boolean> {
    const now = this.clock.now();
    const isOver = ({ goneAt }: Listed): boolean => goneAt !== null && goneAt <= now - BOOKMARK_MS;
    for (const [key, entry] of this.stores) {
      if (isOver(entry)) this.stores.delete(key);
      else if (expiryOf(entry.record) <= now) entry.files.clear();
      for (const [fileId, file] of entry.files) if (isOver(file)) entry.files.delete(fileId);
    }
    this.index.keep((tenant, storeId, fileId) => this.findFile(tenant, storeId, fileId) !== undefined);
    return false;
  }

  private find(tenant: Tenant, storeId: string): StoreEntry | undefined {
    const entry = this.stores.get(tenantKey(tenant, storeId));
    return entry?.goneAt === null ? entry : undefined;
  }

  private findFile(tenant: Tenant, storeId: string, fileId: string): FileEntry | undefined {
    const entry = this.find(tenant, storeId)?.files.get(fileId);
    return entry?.goneAt === null ? entry : undefined;
  }

  private findClaimed({ tenant, storeId, fileId, attempt }: ClaimedFile): FileEntry | undefined {
    const entry = this.findFile(tenant, storeId, fileId);
    return entry?.attempt === attempt && entry.file.status === 'in_progress' ? entry : undefined;
  }
}

/** A page of entries: those that are gone, or not listed, are cursors only. Throws UnknownCursorError. */
function toPage<E extends Listed, T extends { readonly createdAt: number }>(
  entries: readonly E[],
  page: PageRequest,
  valueOf: (entry: E) => readonly [value: T, id: string],
  isListed: (entry: E) => boolean = () => true,
): Page<T> {
  const cursor = page.after ?? page.before;
  const sorted = entries
    .map((entry) => ({ named: valueOf(entry), isShown: entry.goneAt === null && isListed(entry) }))
    .sort(
      ({ named: [one, id] }, { named: [other, otherId] }) => one.createdAt - other.createdAt || (id < otherId ? -1 : 1),
    );
  if (!isForward(page)) sorted.reverse();
  const at = cursor === undefined ? -1 : sorted.findIndex(({ named: [, id] }) => id === cursor);
  if (cursor !== undefined && at === -1) throw new UnknownCursorError(page);
  const found = sorted.slice(at + 1).flatMap(({ named: [value], isShown }) => (isShown ? [value] : []));
  const data = found.slice(0, page.limit);
  // Read from its end, a page that ends before a cursor is turned round.
  return { data: page.before === undefined ? data : data.reverse(), hasMore: found.length > page.limit };
}
