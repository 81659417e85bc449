export {
  BackgroundRuns,
  type ComposeEnding,
  type ConcludeOptions,
  type Ending,
  NEVER,
  type QueueBounds,
  type QueuedRecord,
  type StartedRun,
  type UnfinishedResponse,
} from './background-runs.js';
export { BOOKMARK_MS } from './bookmark.js';
export * from './claims.js';
export {
  type ConversationContext,
  type ConversationPlace,
  type ConversationRecord,
  type ConversationRefusal,
  ConversationStore,
  type OpenedConversation,
  type OpenOptions,
} from './conversation-store.js';
export * from './errors.js';
export { readRecord, reasonOfDamage } from './read-record.js';
export { logRecord, responseRecord } from './stored-response.js';
export { tellDamage } from './readable-page.js';
export { begins, EventLog, finishedItems, type LogBatch, type LogNote, type LogPage, type Run } from './event-log.js';
export {
  type EndedFile,
  type FilePage,
  type FilePiece,
  type FileQuota,
  FileQuotaError,
  type FileRecord,
  FileStore,
  type FileUsage,
  NoBucketError,
  ObjectRecords,
  PIECE_BYTES,
  type PiecePlace,
  type StoredObject,
  toHash,
  type UploadRecord,
} from './file-store.js';
export { type GivenItems, interleave, separate } from './given-items.js';
export {
  type Job,
  JobQueue,
  type JobReference,
  type NewJob,
  type QueueName,
  type QueueOptions,
  type QueueWorker,
} from './job-queue.js';
export { MemoryBackend } from './memory/backend.js';
export * from './notices.js';
export * from './observe-calls.js';
export { type Page, PAGE_BYTES, type PageRequest, toPage } from './page.js';
export * from './response-graph.js';
export * from './response-store.js';
export { Retention } from './retention.js';
export * from './secret-store.js';
export * from './session-store.js';
export * from './shared-limits.js';
export * from './shared-time.js';
export { backendsOf, type BucketCondition, LibraryBackend, StateBackend } from './state-backend.js';
export * from './state-transfer.js';
export * from './state.module.js';
export * from './transfer/export-state.js';
export * from './transfer/import-state.js';
export { type Moved } from './transfer/moved.js';
export {
  DAY_MS,
  dayOf,
  type UsageQuery,
  type UsageRecord,
  UsageStore,
  type UsageSum,
  type UsageTokens,
} from './usage-store.js';
export {
  type Attributes,
  type ChunkHit,
  type ChunkQuery,
  type IndexedDocument,
  productOf,
  type VectorChunk,
  VectorIndex,
  wordsOf,
} from './vector-index.js';
export {
  DEFAULT_CHUNKING,
  type ClaimedFile,
  expiryOf,
  type HeldStore,
  isExpired,
  isUnfound,
  NO_STORE_FILES,
  type StoreBatch,
  type StoreFile,
  type StoreFileCounts,
  type StoreFileOutcome,
  type StoreFilePage,
  type StoreFileStatus,
  type VectorStoreChange,
  type VectorStoreRecord,
  VectorStoreRecords,
  type VectorStoreUsage,
} from './vector-stores.js';
export * from './write-lock.js';
