import type { VectorStoreFileBatch } from 'openai/resources/vector-stores/file-batches';
import type { VectorStoreFile } from 'openai/resources/vector-stores/files';
import type { VectorStore } from 'openai/resources/vector-stores/vector-stores';

import { expiryOf, isExpired, type StoreFile, type StoreFileCounts } from '../../state/index.js';
import type { CountedBatch, CountedStore } from './vector-stores.service.js';

/** Something was deleted. */
export interface DeletedVectorObject {
  readonly id: string;
  readonly object: 'vector_store.deleted' | 'vector_store.file.deleted';
  readonly deleted: true;
}

/** A page that the SDK reads with `next_page`; there is never another one. */
export interface WholePage<T> {
  readonly object: string;
  readonly data: readonly T[];
  readonly has_more: false;
  readonly next_page: null;
}

/** A store as clients see it. `now`: Unix ms. */
export function toStoreObject({ store, counts }: CountedStore, now: number): VectorStore {
  const { expiresAfterDays: days } = store;
  const expiry = expiryOf(store);
  return {
    id: store.id,
    object: 'vector_store',
    created_at: store.createdAt,
    // The SDK has no null here.
    name: store.name ?? '',
    ...{ description: store.description ?? '' },
    usage_bytes: counts.bytes,
    file_counts: toCounts(counts),
    status: isExpired(store, now) ? 'expired' : counts.in_progress > 0 ? 'in_progress' : 'completed',
    ...(days === null ? {} : { expires_after: { anchor: 'last_active_at', days } }),
    expires_at: expiry === null ? null : expiry / 1000,
    last_active_at: store.lastActiveAt,
    metadata: { ...store.metadata },
  };
}

/** A file of a store as clients see it. */
export function toFileObject(file: StoreFile): VectorStoreFile {
  const { fileId, storeId, createdAt, status, error, bytes, attributes } = file;
  const { size, overlap } = file.chunking;
  return {
    ...{ id: fileId, object: 'vector_store.file', created_at: createdAt, vector_store_id: storeId },
    ...{ usage_bytes: bytes, status, last_error: error as VectorStoreFile.LastError | null, attributes },
    chunking_strategy: {
      type: 'static',
      static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap },
    },
  };
}

/** A batch as clients see it. */
export function toBatchObject({ batch, counts }: CountedBatch): VectorStoreFileBatch {
  const { id, storeId, createdAt, isCancelled } = batch;
  const status = isCancelled ? 'cancelled' : counts.in_progress > 0 ? 'in_progress' : 'completed';
  const named = { id, object: 'vector_store.files_batch', created_at: createdAt, vector_store_id: storeId } as const;
  return { ...named, status, file_counts: toCounts(counts) };
}

/** All there is, as a page. */
export function toWholePage<T>(object: string, data: readonly T[]): WholePage<T> {
  return { object, data, has_more: false, next_page: null };
}

function toCounts({ in_progress, completed, failed, cancelled }: StoreFileCounts): VectorStore.FileCounts {
  const total = in_progress + completed + failed + cancelled;
  return { in_progress, completed, failed, cancelled, total };
}
