import { Logger } from '@nestjs/common';

import { OutageLog } from '../../logging/index.js';
import type { Clock } from '../../time/index.js';
import { describe } from '../driver-errors.js';
import type { FileStore } from '../file-store.js';
import { DeletionNotices, RunNotices } from '../notices.js';
import { StateStartError, StoreUnavailableError } from '../errors.js';
import { LONGEST_STOP_MS, StateBackend } from '../state-backend.js';
import { keepOpening } from '../repeat.js';
import { SharedTime } from '../shared-time.js';
import { toVectorStores } from '../sql/stored-vector-stores.js';
import { VECTOR_STORE_MODES } from '../sql/vector-stores.js';
import type { VectorStoreRecords } from '../vector-stores.js';
import type { DatabaseSettings } from './connection-options.js';
import { Database } from './database.js';
import { startFaultOf } from './errors.js';
import { migrate, pendingMigrations } from './migrate.js';
import { NoticeListener } from './notices.js';
import { PostgresClaims } from './claims.js';
import { PostgresConversationStore } from './conversations.js';
import { PostgresEventLog } from './log.js';
import { postgresFiles } from './files.js';
import { Pgvector } from './pgvector.js';
import { PostgresVectorIndex } from './vectors.js';
import { PostgresVectorStores } from './vector-stores.js';
import { PostgresJobQueue } from './jobs.js';
import { PostgresLimits } from './limits.js';
import { PostgresResponseGraph } from './graph.js';
import { PostgresResponseStore } from './responses.js';
import { PostgresRuns } from './runs.js';
import { PostgresWriteLock } from './locks.js';
import { PostgresSecretStore } from './secrets.js';
import { PostgresSessionStore } from './sessions.js';
import { PostgresTransfer } from './transfer.js';
import { PostgresUsageStore } from './usage.js';
import { PostgresTombstones } from './tombstones.js';

/** State in PostgreSQL, shared by all replicas. */
export class PostgresBackend extends StateBackend {
  override readonly notices = new DeletionNotices();
  override readonly runNotices = new RunNotices();
  override readonly responses: PostgresResponseStore;
  override readonly runs: PostgresRuns;
  override readonly graph: PostgresResponseGraph;
  override readonly sessions: PostgresSessionStore;
  override readonly conversations: PostgresConversationStore;
  override readonly locks: PostgresWriteLock;
  override readonly secrets: PostgresSecretStore;
  override readonly claims: PostgresClaims;
  override readonly log: PostgresEventLog;
  override readonly jobs: PostgresJobQueue;
  override readonly transfer: PostgresTransfer;
  override readonly limits: PostgresLimits;
  override readonly usage: PostgresUsageStore;
  override readonly files: FileStore;
  override readonly vectors: PostgresVectorIndex;
  override readonly vectorStores: VectorStoreRecords;
  private readonly logger = new Logger('Database');
  private readonly outages = new OutageLog(this.logger);
  private readonly database: Database;
  private readonly time: SharedTime;
  private readonly listener: NoticeListener;
  private readonly pgvector: Pgvector;
  private readonly stopping = new AbortController();

  constructor(
    private readonly settings: DatabaseSettings,
    private readonly clock: Clock,
  ) {
    super();
    this.database = new Database(settings, clock);
    const read = (): Promise<number> => this.database.time();
    this.time = new SharedTime(clock, { name: 'PostgreSQL', read, notices: this.runNotices });
    const tombstones = new PostgresTombstones(this.database, this.notices, clock);
    this.jobs = new PostgresJobQueue(this.database, this.runNotices, clock);
    this.log = new PostgresEventLog(this.database, this.runNotices, clock);
    this.listener = new NoticeListener(settings, this.notices, this.runNotices, this.log, clock);
    this.locks = new PostgresWriteLock(this.database);
    this.conversations = new PostgresConversationStore(this.database, this.locks, clock, settings.CONTEXT_MAX_BYTES);
    this.responses = new PostgresResponseStore(
      this.database,
      tombstones,
      this.conversations,
      this.log,
      clock,
      settings.CONTEXT_MAX_BYTES,
    );
    this.runs = new PostgresRuns(this.database, this.responses, this.log, this.jobs, clock, settings.CONTEXT_MAX_BYTES);
    this.graph = new PostgresResponseGraph(this.database, clock);
    this.sessions = new PostgresSessionStore(this.database, tombstones, clock);
    this.secrets = new PostgresSecretStore(this.database);
    this.claims = new PostgresClaims(this.database, clock);
    this.usage = new PostgresUsageStore(this.database);
    const vectorStores = new PostgresVectorStores(() => clock.now());
    this.vectorStores = toVectorStores(this.database.contract(vectorStores, VECTOR_STORE_MODES));
    this.files = postgresFiles(this.database, () => clock.now());
    this.pgvector = new Pgvector(settings, this.database, this.logger, clock);
    this.vectors = new PostgresVectorIndex(this.database, this.pgvector);
    this.transfer = new PostgresTransfer(this.database, this.jobs);
    this.limits = new PostgresLimits(this.database);
  }

  /** Throws StateStartError for permanent errors, such as a wrong password, and for an outdated schema. */
  override async start(): Promise<void> {
    if (!(await this.tryToOpen())) void this.keepTrying();
    this.listener.start();
  }

  /** Statements that run may end, up to LONGEST_STOP_MS. */
  override async stop(): Promise<void> {
    this.stopping.abort();
    this.time.stop();
    await this.clock.within(this.end(), LONGEST_STOP_MS);
    this.database.cut();
  }

  private async end(): Promise<void> {
    await Promise.all([this.jobs.stop(), this.listener.stop(), this.pgvector.stop()]);
    await this.database.close();
  }

  /** False when the database is temporarily unavailable. */
  private async tryToOpen(): Promise<boolean> {
    try {
      await this.requireSchema();
      await this.database.open(() => this.time.start());
      await this.pgvector.start();
    } catch (error) {
      const fault = startFaultOf(error);
      const isAway = error instanceof StoreUnavailableError || error instanceof StateStartError;
      if (fault !== undefined || !isAway) throw fault ?? error;
      this.outages.warn('the database is not available yet', describe(error));
      return false;
    }
    await this.jobs.start();
    return true;
  }

  private async requireSchema(): Promise<void> {
    if (this.settings.DATABASE_MIGRATE) {
      const applied = await migrate(this.settings);
      if (applied.length > 0) this.logger.log(`applied ${applied.length} migrations`);
      return;
    }
    const pending = await pendingMigrations(this.settings);
    if (pending.length === 0) return;
    throw new StateStartError(
      `DATABASE_MIGRATE: the database needs ${pending.length} migrations. Run 'npm run migrate', or set it to true.`,
    );
  }

  private keepTrying(): Promise<void> {
    // `/readyz` still answers 503; this is the reason.
    const onFailure = (error: unknown): void => this.logger.error('the database cannot be used', error);
    return keepOpening(() => this.tryToOpen(), { clock: this.clock, signal: this.stopping.signal, onFailure });
  }
}
