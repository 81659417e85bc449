import { mkdir } from 'node:fs/promises';

import type { Environment } from '../../config/index.js';
import type { Clock } from '../../time/index.js';
import type { ConversationStore } from '../conversation-store.js';
import { DeletionNotices } from '../deletion-notices.js';
import { StateStartError } from '../errors.js';
import type { EventLog } from '../event-log.js';
import { InProcessLock } from '../in-process/in-process-lock.js';
import type { JobQueue } from '../job-queue.js';
import type { ResponseGraph } from '../response-graph.js';
import type { ResponseStore } from '../response-store.js';
import { RunNotices } from '../run-notices.js';
import type { SecretStore } from '../secret-store.js';
import type { SessionStore } from '../session-store.js';
import { StateBackend } from '../state-backend.js';
import { DatabaseThread } from './database-thread.js';
import { explainStart } from './explain-start.js';
import { SqliteResponseGraph } from './sqlite-response-graph.js';
import { type Runs, SqliteResponseStore } from './sqlite-response-store.js';
import { SqliteSecretStore } from './sqlite-secret-store.js';
import { SqliteSessionStore } from './sqlite-session-store.js';
import { SqliteTombstones } from './sqlite-tombstones.js';

/** The variables of the file. */
export type FileSettings = Pick<Environment, 'STATE_DIR' | 'CONTEXT_MAX_BYTES'>;

/** State in a file of this process, which it finds again when it restarts. */
export class SqliteBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: ResponseStore;
  override readonly graph: ResponseGraph;
  override readonly sessions: SessionStore;
  override readonly conversations: ConversationStore = pending('conversations');
  override readonly locks: InProcessLock;
  override readonly secrets: SecretStore;
  override readonly log: EventLog = pending('log');
  override readonly jobs: JobQueue = pending('jobs');
  private readonly thread: DatabaseThread;

  constructor(
    private readonly settings: FileSettings,
    clock: Clock,
  ) {
    super();
    const { STATE_DIR: directory, CONTEXT_MAX_BYTES } = settings;
    this.locks = new InProcessLock(clock);
    this.thread = new DatabaseThread({ directory }, clock);
    const tombstones = new SqliteTombstones(this.thread, this.notices, clock);
    const runs: Runs = pending('runs');
    this.responses = new SqliteResponseStore(this.thread, this.locks, tombstones, runs, [], clock, CONTEXT_MAX_BYTES);
    this.graph = new SqliteResponseGraph(this.thread, clock);
    this.sessions = new SqliteSessionStore(this.thread, tombstones, clock);
    this.secrets = new SqliteSecretStore(this.thread);
  }

  override async start(): Promise<void> {
    const { STATE_DIR } = this.settings;
    try {
      await mkdir(STATE_DIR, { recursive: true });
    } catch (error) {
      throw new StateStartError(explainStart(error, STATE_DIR));
    }
    await this.thread.start();
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
