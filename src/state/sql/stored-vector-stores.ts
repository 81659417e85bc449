import type { Tenant } from '../../access/index.js';
import { DamagedRecordError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import { readRecord } from '../read-record.js';
import { readablePage } from '../readable-page.js';
import {
  DEFAULT_CHUNKING,
  type StoreFile,
  type StoreFilePage,
  type VectorStoreRecord,
  type VectorStoreRecords,
} from '../vector-stores.js';
import type { StoredRecord } from './pages.js';
import type { FileRow } from './statements/vector-stores.js';

/** What each store of vector stores in a database must do: lists give records as they are stored. */
export type VectorStoreMethods = Omit<VectorStoreRecords, 'list' | 'files'> & {
  list(tenant: Tenant, page: PageRequest): Promise<Page<StoredRecord>>;
  files(tenant: Tenant, storeId: string, page: StoreFilePage): Promise<Page<StoredRecord>>;
};

/** The vector stores of a database. */
export function toVectorStores(methods: VectorStoreMethods): VectorStoreRecords {
  return {
    ...methods,
    list: (tenant, page) =>
      readablePage(
        tenant,
        page,
        (asked) => methods.list(tenant, asked),
        ({ id, about }: StoredRecord) => readStore(about, id),
      ),
    files: (tenant, storeId, page) => {
      const read = ({ id, about }: StoredRecord): StoreFile => readFile(about, storeId, id);
      return readablePage(tenant, page, (asked) => methods.files(tenant, storeId, asked), read);
    },
  };
}

/** Parses what is stored of a vector store. Throws DamagedRecordError. */
export function readStore(about: string, id: string): VectorStoreRecord {
  return readRecord(about, `/v1/vector_stores/${id}`, 'id');
}

/** Parses what is stored of a file in one. Throws DamagedRecordError. */
export function readFile(about: string, storeId: string, fileId: string): StoreFile {
  return readRecord(about, `/v1/vector_stores/${storeId}/files/${fileId}`, 'fileId');
}

/** The file of a row that is in progress; a damaged one with what its columns say of it, and `isDamaged`. */
export function readWaiting(row: FileRow): StoreFile & { readonly isDamaged?: true } {
  const { about, store_id: storeId, id: fileId, created_at: createdAt, batch_id: batchId, bytes } = row;
  try {
    return readFile(about, storeId, fileId);
  } catch (error) {
    if (!(error instanceof DamagedRecordError)) throw error;
    const lost = { keyId: null, attributes: {}, chunking: DEFAULT_CHUNKING };
    return { storeId, fileId, createdAt, batchId, ...lost, status: 'in_progress', error: null, bytes, isDamaged: true };
  }
}
