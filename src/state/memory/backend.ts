import type { Clock } from '../../time/index.js';
import { DeletionNotices, RunNotices } from '../notices.js';
import { StateBackend } from '../state-backend.js';
import { InProcessJobQueue } from '../in-process/jobs.js';
import { InProcessLock } from '../in-process/locks.js';
import { MemoryClaims } from './claims.js';
import { MemoryConversationStore } from './conversations.js';
import { MemoryEventLog } from './log.js';
import { MemoryFileStore } from './files.js';
import { MemoryResponseGraph } from './graph.js';
import { MemoryResponseStore } from './responses.js';
import { MemoryRuns } from './runs.js';
import { MemorySessionStore } from './sessions.js';
import { MemorySecretStore } from './secrets.js';
import { type MemoryLimits, MemoryState } from './state.js';
import { MemoryTransfer } from './transfer.js';
import { MemoryUsageStore } from './usage.js';
import { MemoryVectorIndex } from './vectors.js';
import { MemoryVectorStores } from './vector-stores.js';

/** State in the memory of this process: fast, bounded, and lost when it ends. */
export class MemoryBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: MemoryResponseStore;
  override readonly runs: MemoryRuns;
  override readonly graph: MemoryResponseGraph;
  override readonly sessions: MemorySessionStore;
  override readonly conversations: MemoryConversationStore;
  override readonly locks: InProcessLock;
  override readonly secrets = new MemorySecretStore();
  override readonly claims: MemoryClaims;
  override readonly log: MemoryEventLog;
  override readonly jobs: InProcessJobQueue;
  override readonly transfer: MemoryTransfer;
  override readonly usage: MemoryUsageStore;
  override readonly files: MemoryFileStore;
  override readonly vectors: MemoryVectorIndex;
  override readonly vectorStores: MemoryVectorStores;

  /** What is kept of responses and conversations. */
  private readonly state: MemoryState;

  constructor(limits: MemoryLimits, clock: Clock) {
    super();
    const state = new MemoryState(clock, this.notices, limits);
    this.state = state;
    this.usage = new MemoryUsageStore((tenant, responseId) => state.has(tenant, responseId));
    this.locks = new InProcessLock(clock);
    this.conversations = new MemoryConversationStore(state, this.locks);
    this.log = new MemoryEventLog(state, this.runNotices, clock, limits.MEMORY_MAX_BYTES);
    this.jobs = new InProcessJobQueue(clock);
    this.responses = new MemoryResponseStore(state, this.locks, this.log, this.usage, clock);
    const { responses, log, runNotices: notices, jobs, usage } = this;
    this.runs = new MemoryRuns({ state, responses, log, notices, jobs, usage });
    this.graph = new MemoryResponseGraph(state);
    this.sessions = new MemorySessionStore(state, this.notices);
    this.claims = new MemoryClaims(clock, limits.MEMORY_MAX_RESPONSES);
    this.files = new MemoryFileStore(clock, limits.MEMORY_MAX_BYTES);
    this.vectors = new MemoryVectorIndex(limits.MEMORY_MAX_BYTES);
    this.vectorStores = new MemoryVectorStores(this.vectors, clock);
    this.transfer = new MemoryTransfer(state, this.log, this.jobs, this.secrets);
  }

  /** About how many bytes responses and conversations take; 0 when nothing is kept of any. */
  get bytes(): number {
    return this.state.bytes;
  }

  override async start(): Promise<void> {
    // Nothing to start.
  }

  override async stop(): Promise<void> {
    // Nothing to stop.
  }
}
