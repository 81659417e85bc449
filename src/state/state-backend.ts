import type { BackgroundRuns } from './background-runs.js';
import type { Claims } from './claims.js';
import type { ConversationStore } from './conversation-store.js';
import type { DeletionNotices, RunNotices } from './notices.js';
import type { EventLog } from './event-log.js';
import type { FileStore } from './file-store.js';
import type { JobQueue } from './job-queue.js';
import type { ResponseGraph } from './response-graph.js';
import type { ResponseStore } from './response-store.js';
import type { SecretStore } from './secret-store.js';
import type { SharedLimits } from './shared-limits.js';
import type { SessionStore } from './session-store.js';
import type { StateTransfer } from './state-transfer.js';
import type { UsageStore } from './usage-store.js';
import type { VectorIndex } from './vector-index.js';
import type { VectorStoreRecords } from './vector-stores.js';
import type { WriteLock } from './write-lock.js';

/** How long a backend waits at a shutdown for the answers of its database, ms. */
export const LONGEST_STOP_MS = 2000;

/** The implementations of the state contracts over one storage. */
export abstract class StateBackend {
  abstract readonly responses: ResponseStore;
  abstract readonly runs: BackgroundRuns;
  abstract readonly graph: ResponseGraph;
  abstract readonly sessions: SessionStore;
  abstract readonly conversations: ConversationStore;
  abstract readonly locks: WriteLock;
  abstract readonly secrets: SecretStore;
  abstract readonly claims: Claims;
  abstract readonly notices: DeletionNotices;
  abstract readonly log: EventLog;
  abstract readonly jobs: JobQueue;
  abstract readonly runNotices: RunNotices;
  /** Moves everything to another backend; without it the state cannot be exported or imported. */
  readonly transfer?: StateTransfer;
  /** Counters of limits for all replicas; without it each process counts for itself. */
  readonly limits?: SharedLimits;
  /** What turns have used, of stored responses together with them; without it usage is not recorded. */
  readonly usage?: UsageStore;
  /** Files of tenants; without it they are kept where VECTOR_STORE_URL says, or not at all. */
  readonly files?: FileStore;
  /** Chunks of the documents in vector stores, as `files`. */
  readonly vectors?: VectorIndex;
  /** Vector stores and which files are in them, as `files`. */
  readonly vectorStores?: VectorStoreRecords;

  /** Starts the backend. Throws permanent errors; a temporarily unavailable storage is retried in the background. */
  abstract start(): Promise<void>;

  abstract stop(): Promise<void>;

  /** Ends at once what would hold the exit of the process, whose shutdown takes too long; without it there is nothing such. */
  abandon?(): Promise<void>;
}

/** How the bucket of files is. */
export interface BucketCondition {
  readonly bucket: string;
  /** Why its last call has failed. */
  readonly error: string | null;
}

/** What keeps files, and vector stores: the backend of the state or, where it does not, that of VECTOR_STORE_URL; perhaps with a bucket. */
export abstract class LibraryBackend {
  readonly files?: FileStore;
  readonly vectors?: VectorIndex;
  readonly vectorStores?: VectorStoreRecords;
  /** The backend that keeps the records, where this is not one itself. */
  readonly records?: LibraryBackend;
  /** Where the bytes of files are, unless they are with their records. */
  readonly bucket?: { readonly condition: BucketCondition; close(): void };
}

/** The backends that are started and stopped: that of the state, and that of the library where it is another one. */
export function backendsOf(state: StateBackend, library: LibraryBackend): Iterable<StateBackend> {
  const { records = library } = library;
  return new Set(records instanceof StateBackend ? [state, records] : [state]);
}
