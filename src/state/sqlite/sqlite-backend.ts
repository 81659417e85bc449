import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

import type { Environment } from '../../config/index.js';
import type { Clock } from '../../time/index.js';
import { DeletionNotices } from '../deletion-notices.js';
import { InProcessJobQueue } from '../in-process/in-process-job-queue.js';
import { InProcessLock } from '../in-process/in-process-lock.js';
import type { ResponseGraph } from '../response-graph.js';
import type { ResponseStore } from '../response-store.js';
import { RunNotices } from '../run-notices.js';
import type { SecretStore } from '../secret-store.js';
import type { SessionStore } from '../session-store.js';
import { StateBackend } from '../state-backend.js';
import { DatabaseThread } from './database-thread.js';
import { RunGate } from './run-gate.js';
import { SqliteConversationStore } from './sqlite-conversation-store.js';
import { SqliteEventLog } from './sqlite-event-log.js';
import { SqliteJobJournal } from './sqlite-job-journal.js';

/** The variables of the file. */
export type FileSettings = Pick<Environment, 'STATE_DIR' | 'CONTEXT_MAX_BYTES'>;

/** State in a file of this process, which it finds again when it restarts. */
export class SqliteBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: ResponseStore = pending('responses');
  override readonly graph: ResponseGraph = pending('graph');
  override readonly sessions: SessionStore = pending('sessions');
  override readonly conversations: SqliteConversationStore;
  override readonly locks: InProcessLock;
  override readonly secrets: SecretStore = pending('secrets');
  override readonly log: SqliteEventLog;
  override readonly jobs: InProcessJobQueue;
  private readonly thread = new DatabaseThread();

  constructor(
    private readonly settings: FileSettings,
    clock: Clock,
  ) {
    super();
    const { thread } = this;
    const { CONTEXT_MAX_BYTES: maxContextBytes } = settings;
    this.locks = new InProcessLock(clock);
    const gate = new RunGate();
    this.conversations = new SqliteConversationStore(thread, this.locks, maxContextBytes);
    this.log = new SqliteEventLog(thread, gate, this.runNotices, clock);
    this.jobs = new InProcessJobQueue(clock, new SqliteJobJournal(thread));
  }

  override async start(): Promise<void> {
    const { STATE_DIR } = this.settings;
    await mkdir(STATE_DIR, { recursive: true });
    await this.thread.start({ file: join(STATE_DIR, 'antiphon.sqlite') });
    await this.jobs.start();
  }

  override async stop(): Promise<void> {
    await this.thread.stop();
  }
}

/** PENDING: remove with the last part that is not written. */
function pending<T extends object>(part: string): T {
  const method = (name: string) => async (): Promise<never> => {
    throw new Error(`${part}.${name} is not written yet`);
  };
  return new Proxy({}, { get: (_target, name) => method(String(name)) }) as T;
}
