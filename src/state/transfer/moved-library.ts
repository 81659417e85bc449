import type { Tenant } from '../../access/index.js';
import { type FileRecord, type FileStore, toHash } from '../file-store.js';
import type { Page } from '../page.js';
import { StateTransferError } from '../state-transfer.js';
import type { StoreFile, VectorStoreRecord, VectorStoreRecords } from '../vector-stores.js';

/** A piece of a file, which follows its pieces. */
interface MovedPiece {
  readonly kind: 'piece';
  readonly fileId: string;
  readonly position: number;
  /** In base64. */
  readonly bytes: string;
}

/** A file, whose pieces came before it. */
interface MovedFile {
  readonly kind: 'file';
  readonly record: FileRecord;
}

/** A vector store; the files in it follow. */
export interface MovedStore {
  readonly kind: 'store';
  readonly record: VectorStoreRecord;
}

/** A file in the store before it. It has no vectors: where it is stored, it is indexed anew. */
export interface MovedStoreFile {
  readonly kind: 'store_file';
  readonly file: StoreFile;
}

/** What keeps files and vector stores. */
export interface MovedLibrary {
  readonly files?: FileStore | undefined;
  readonly vectorStores?: VectorStoreRecords | undefined;
}

/** A line of files and vector stores. */
export type MovedLibraryEntry = MovedPiece | MovedFile | MovedStore | MovedStoreFile;

/** Entries of a page. */
const PAGE = 100;

/** How long what an interrupted import has written waits for its repetition, ms. */
const DRAFT_MS = 86_400_000;

const ANY_SIZE = { bytes: Infinity, files: Infinity };

/** The tenants that have files or vector stores. Throws StateTransferError for one whose name is not known any more. */
export async function tenantsOf({ files, vectorStores }: MovedLibrary): Promise<readonly Tenant[]> {
  return [...((await files?.tenants()) ?? []), ...((await vectorStores?.tenants()) ?? [])];
}

/** The files of a tenant, oldest first, each behind its pieces, then its vector stores. Uploads and batches are not moved. */
export async function* readLibrary(
  { files, vectorStores }: MovedLibrary,
  tenant: Tenant,
): AsyncGenerator<MovedLibraryEntry> {
  if (files !== undefined) {
    for await (const record of all((page) => files.list(tenant, page))) {
      for (let position = 0; ; position += 1) {
        const piece = await files.piece(tenant, record.id, position);
        if (piece === undefined) break;
        yield { kind: 'piece', fileId: record.id, position, bytes: Buffer.from(piece).toString('base64') };
      }
      yield { kind: 'file', record };
    }
  }
  if (vectorStores === undefined) return;
  for await (const record of all((page) => vectorStores.list(tenant, page))) {
    yield { kind: 'store', record };
    const list = async (page: ForwardPage): Promise<Page<StoreFile & { readonly id: string }>> => {
      const { data, hasMore } = await vectorStores.files(tenant, record.id, page);
      return { data: data.map((file) => ({ ...file, id: file.fileId })), hasMore };
    };
    for await (const { id: _, ...file } of all(list)) {
      // Another database has no chunks of it.
      const status = file.status === 'completed' ? 'in_progress' : file.status;
      yield { kind: 'store_file', file: { ...file, status, bytes: 0, batchId: null } };
    }
  }
}

interface ForwardPage {
  readonly limit: number;
  readonly order: 'asc';
  readonly after?: string;
  readonly damaged: 'refuse';
}

/** All entries of a list, page by page. */
async function* all<T extends { readonly id: string }>(
  list: (page: ForwardPage) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let after: string | undefined;
  for (;;) {
    const from = after === undefined ? {} : { after };
    const { data, hasMore } = await list({ limit: PAGE, order: 'asc', damaged: 'refuse', ...from });
    yield* data;
    after = data.at(-1)?.id;
    if (!hasMore) return;
  }
}

/** Stores files and vector stores as `readLibrary` gives them. Those that exist already stay unchanged. */
export class LibraryImport {
  private current: string | null = null;
  private isKnown = false;
  /** What the next piece of the current file has so far: another store may have cut it in other lengths. */
  private parts: Buffer[] = [];
  private length = 0;
  private position = 0;

  constructor(
    private readonly library: MovedLibrary,
    private readonly tenant: Tenant,
    private readonly now: number,
  ) {}

  /** False for a file or a store that was there already. Throws StateTransferError where none are kept. */
  async write(moved: MovedLibraryEntry): Promise<boolean> {
    const { files, vectorStores } = this.library;
    if (files === undefined || vectorStores === undefined) {
      throw new StateTransferError(
        'it is of a file or a vector store, and this state keeps none: set VECTOR_STORE_URL',
      );
    }
    if (moved.kind === 'store' || moved.kind === 'store_file') return this.writeStore(vectorStores, moved);
    await this.begin(files, moved.kind === 'piece' ? moved.fileId : moved.record.id);
    if (this.isKnown) return moved.kind === 'piece';
    if (moved.kind === 'file') {
      await this.append(files, moved.record.id, this.length);
      await files.commit(this.tenant, moved.record, ANY_SIZE);
      return true;
    }
    const part = Buffer.from(moved.bytes, 'base64');
    this.parts.push(part);
    this.length += part.length;
    await this.append(files, moved.fileId, files.pieceBytes);
    return true;
  }

  /** Appends what has come in pieces of a length, as far as it suffices for them. */
  private async append(files: FileStore, fileId: string, length: number): Promise<void> {
    if (this.length === 0 || this.length < length) return;
    let rest = Buffer.concat(this.parts);
    for (; rest.length > 0 && rest.length >= length; rest = rest.subarray(length)) {
      const bytes = Uint8Array.from(rest.subarray(0, length));
      const piece = { position: this.position, hash: toHash(bytes), bytes };
      await files.append(this.tenant, fileId, piece, this.now + DRAFT_MS, ANY_SIZE);
      this.position += 1;
    }
    this.parts = [rest];
    this.length = rest.length;
  }

  /** Another file begins: what an interrupted import has left of it goes. */
  private async begin(files: FileStore, fileId: string): Promise<void> {
    if (this.current === fileId) return;
    this.current = fileId;
    [this.parts, this.length, this.position] = [[], 0, 0];
    this.isKnown = (await files.get(this.tenant, fileId)) !== undefined;
    if (this.isKnown) return;
    await files.discard(this.tenant, fileId);
    while (await files.purge());
  }

  private async writeStore(stores: VectorStoreRecords, moved: MovedStore | MovedStoreFile): Promise<boolean> {
    if (moved.kind === 'store') {
      if ((await stores.get(this.tenant, moved.record.id)) !== undefined) return false;
      await stores.create(this.tenant, moved.record, Infinity);
      return true;
    }
    const { storeId, fileId } = moved.file;
    const isKnown = (await stores.file(this.tenant, storeId, fileId)) !== undefined;
    if (!isKnown) await stores.add(this.tenant, storeId, [moved.file], null);
    return true;
  }
}
