import { type Tenant, tenantKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { BOOKMARK_MS } from '../bookmark.js';
import { UnknownCursorError } from '../errors.js';
import { isForward, type Page, type PageRequest, toPage } from '../page.js';
import type { Attributes } from '../vector-index.js';
import {
  type ClaimedFile,
  type HeldStore,
  inTurn,
  isExpired,
  isUnfound,
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
  /** Of the claim that has it; 0 without one. */
  attempt: number;
  /** Of its last claim. */
  served: number;
  tries: number;
  /** Bytes, while it is indexed. */
  reserved: number;
  /** Unix ms: until when nobody else gets it. */
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
  private lastAttempt = 0;

  constructor(
    private readonly index: MemoryVectorIndex,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async create(tenant: Tenant, record: VectorStoreRecord, most: number): Promise<boolean> {
    if (this.ownedBy(tenant).length >= most) return false;
    const key = tenantKey(tenant, record.id);
    // A store of this id was deleted, and may have left chunks.
    if (this.stores.has(key)) this.index.drop(tenant, record.id);
    this.stores.set(key, { tenant, record, files: new Map(), batches: new Map(), goneAt: null });
    return true;
  }

  override async get(tenant: Tenant, storeId: string): Promise<VectorStoreRecord | undefined> {
    return this.find(tenant, storeId)?.record;
  }

  override async list(tenant: Tenant, page: PageRequest): Promise<Page<VectorStoreRecord>> {
    const entries = [...this.stores.values()].filter((entry) => entry.tenant === tenant);
    return pageOf(entries, page, ({ record }) => [record, record.id]);
  }

  override async change(tenant: Tenant, storeId: string, change: VectorStoreChange) {
    const entry = this.findAlive(tenant, storeId);
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
    this.index.drop(tenant, storeId);
    return true;
  }

  override async add(tenant: Tenant, storeId: string, files: readonly StoreFile[], batch: StoreBatch | null) {
    const entry = this.findAlive(tenant, storeId);
    if (entry === undefined) return false;
    for (const file of files) {
      // What the store has of a file already is found, and counts, until the file is settled again.
      const bytes = this.findFile(tenant, storeId, file.fileId)?.file.bytes ?? file.bytes;
      const served = entry.files.get(file.fileId)?.served ?? 0;
      // Put at the end: files are claimed in the order of the map.
      entry.files.delete(file.fileId);
      entry.files.set(file.fileId, {
        file: { ...file, bytes },
        attempt: 0,
        served,
        tries: 0,
        reserved: 0,
        until: 0,
        goneAt: null,
      });
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
    return pageOf(listed, page, ({ file }) => [file, file.fileId], isListed);
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

  override async describe(tenant: Tenant, storeId: string, fileId: string, attributes: Attributes) {
    const entry = this.findFile(tenant, storeId, fileId);
    if (entry === undefined) return undefined;
    entry.file = { ...entry.file, attributes };
    return entry.file;
  }

  override async detach(tenant: Tenant, storeId: string, fileId: string): Promise<boolean> {
    const entry = this.findFile(tenant, storeId, fileId);
    if (entry === undefined) return false;
    entry.goneAt = this.clock.now();
    this.index.remove(tenant, storeId, fileId);
    return true;
  }

  override async storesOf(tenant: Tenant, fileId: string): Promise<readonly string[]> {
    const entries = [...this.stores.values()].filter((entry) => entry.tenant === tenant);
    return entries.filter(({ files }) => files.get(fileId)?.goneAt === null).map(({ record }) => record.id);
  }

  override async batch(tenant: Tenant, storeId: string, batchId: string): Promise<StoreBatch | undefined> {
    return this.find(tenant, storeId)?.batches.get(batchId);
  }

  override async cancelBatch(tenant: Tenant, storeId: string, batchId: string): Promise<readonly string[] | undefined> {
    const entry = this.find(tenant, storeId);
    const batch = entry?.batches.get(batchId);
    if (entry === undefined || batch === undefined) return undefined;
    entry.batches.set(batchId, { ...batch, isCancelled: true });
    const cancelled = [...entry.files.values()].filter(
      ({ file, goneAt }) => goneAt === null && file.batchId === batchId && file.status === 'in_progress',
    );
    for (const each of cancelled) {
      each.file = { ...each.file, status: 'cancelled', bytes: 0 };
      each.reserved = 0;
      this.index.remove(tenant, storeId, each.file.fileId);
    }
    return cancelled.map(({ file }) => file.fileId);
  }

  override async claim(most: number, now: number, until: number, heldBack: readonly HeldStore[] = []) {
    const held = new Set(heldBack.map(({ tenant, storeId }) => tenantKey(tenant, storeId)));
    const byTenant = Map.groupBy(this.stores.values(), ({ tenant }) => tenant);
    const waiting = [...byTenant].flatMap(([tenant, stores]) => {
      const files = stores.flatMap((store) => [...store.files.values()]);
      const served = files.reduce((greatest, entry) => Math.max(greatest, entry.served), 0);
      return files
        .filter((entry) => entry.goneAt === null && entry.file.status === 'in_progress' && entry.until <= now)
        .filter(({ file }) => !held.has(tenantKey(tenant, file.storeId)))
        .sort((one, other) => one.file.createdAt - other.file.createdAt)
        .slice(0, most)
        .map((entry, turn) => ({ tenant, entry, turn, served, place: entry.file.createdAt }));
    });
    return inTurn(waiting)
      .slice(0, most)
      .map(({ tenant, entry }) => {
        const attempt = ++this.lastAttempt;
        Object.assign(entry, { attempt, served: attempt, tries: entry.tries + 1, until, reserved: 0 });
        return { ...entry.file, tenant, attempt, tries: entry.tries };
      });
  }

  override async reserve(claimed: ClaimedFile, bytes: number, most: number): Promise<'reserved' | 'full' | 'lost'> {
    const entry = this.findClaimed(claimed);
    if (entry === undefined) return 'lost';
    const { file, reserved } = entry;
    const others = this.bytesOf(claimed.tenant) - Math.max(file.bytes, reserved);
    if (others + Math.max(file.bytes, bytes) > most) return 'full';
    entry.reserved = bytes;
    return 'reserved';
  }

  override async renew(claimed: ClaimedFile, until: number): Promise<boolean> {
    const entry = this.findClaimed(claimed);
    if (entry === undefined) return false;
    entry.until = until;
    return true;
  }

  override async giveBack(claimed: ClaimedFile, notBefore: number): Promise<boolean> {
    const entry = this.findClaimed(claimed);
    if (entry === undefined) return false;
    Object.assign(entry, { attempt: 0, tries: entry.tries - 1, until: notBefore, reserved: 0 });
    return true;
  }

  override async settle(claimed: ClaimedFile, outcome: StoreFileOutcome): Promise<boolean> {
    const entry = this.findClaimed(claimed);
    if (entry === undefined) return false;
    entry.file = { ...entry.file, ...outcome };
    entry.reserved = 0;
    if (isUnfound(outcome)) this.index.remove(claimed.tenant, claimed.storeId, claimed.fileId);
    return true;
  }

  override async used(tenant: Tenant): Promise<VectorStoreUsage> {
    return { stores: this.ownedBy(tenant).length, bytes: this.bytesOf(tenant) };
  }

  private bytesOf(tenant: Tenant): number {
    const files = this.ownedBy(tenant).flatMap((store) => [...store.files.values()]);
    const counted = files.map(({ file, reserved, goneAt }) => (goneAt === null ? Math.max(file.bytes, reserved) : 0));
    return counted.reduce((sum, bytes) => sum + bytes, 0);
  }

  override async tenants(): Promise<readonly Tenant[]> {
    const there = [...this.stores.values()].filter(({ goneAt }) => goneAt === null);
    return [...new Set(there.map(({ tenant }) => tenant))];
  }

  override async purge(): Promise<boolean> {
    const now = this.clock.now();
    const before = now - BOOKMARK_MS;
    const isOver = ({ goneAt }: Listed): boolean => goneAt !== null && goneAt <= before;
    for (const [key, entry] of this.stores) {
      if (isOver(entry)) this.stores.delete(key);
      else if (isExpired(entry.record, now)) entry.files.clear();
      for (const [fileId, file] of entry.files) if (isOver(file)) entry.files.delete(fileId);
      const used = new Set([...entry.files.values()].map(({ file, goneAt }) => goneAt === null && file.batchId));
      for (const { id, createdAt } of entry.batches.values()) {
        if (!used.has(id) && createdAt * 1000 <= before) entry.batches.delete(id);
      }
    }
    this.index.keep((tenant, storeId, fileId) => {
      const entry = this.findFile(tenant, storeId, fileId);
      return entry !== undefined && !isUnfound(entry.file);
    });
    return false;
  }

  private ownedBy(tenant: Tenant): readonly StoreEntry[] {
    return [...this.stores.values()].filter((entry) => entry.tenant === tenant && entry.goneAt === null);
  }

  private find(tenant: Tenant, storeId: string): StoreEntry | undefined {
    const entry = this.stores.get(tenantKey(tenant, storeId));
    return entry?.goneAt === null ? entry : undefined;
  }

  private findAlive(tenant: Tenant, storeId: string): StoreEntry | undefined {
    const entry = this.find(tenant, storeId);
    return entry === undefined || isExpired(entry.record, this.clock.now()) ? undefined : entry;
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
function pageOf<E extends Listed, T extends { readonly createdAt: number }>(
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
  return toPage(found, page);
}
