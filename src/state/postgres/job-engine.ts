import type { PgBoss } from 'pg-boss';

import type { Clock } from '../../time/index.js';
import { QueueEngine } from '../database-queue.js';
import { describe } from '../driver-errors.js';
import { StateStartError, StoreUnavailableError } from '../errors.js';
import type { QueueName } from '../job-queue.js';
import type { Database } from './database.js';
import { startFaultOf } from './errors.js';
import { JOBS_SCHEMA } from './migrate-jobs.js';

const DAY = 86_400;

/** How often jobs of dead processes are looked for, seconds. A process skips it if another one has just done so. */
const SUPERVISION = { superviseIntervalSeconds: 4, monitorIntervalSeconds: 3 };
/** The longest time until jobs of a dead process are found, and are delivered again, seconds. */
export const TAKEOVER_SECONDS = 10;
/** How often, and after which time, jobs are deleted that failed for the last time, seconds. */
const CLEANING_SECONDS = 3600;

/** Options of a queue until a process works on it. */
const NEW_QUEUE = { heartbeatSeconds: 20, expireInSeconds: DAY, retryLimit: 1000, retryDelay: 1 };
const QUEUES: readonly QueueName[] = ['turns', 'webhooks'];

/** pg-boss over our connections: it stores jobs, and finds those whose process died. */
export class JobEngine extends QueueEngine {
  private readonly stopping = new AbortController();
  private readonly started = Promise.withResolvers<PgBoss>();
  private boss: PgBoss | undefined;
  private running: PgBoss | undefined;

  constructor(
    private readonly database: Database,
    clock: Clock,
  ) {
    super(clock);
  }

  /** Starts it; if the database is temporarily unavailable, in the background. Throws StateStartError. */
  async start(): Promise<void> {
    try {
      await this.open();
    } catch (error) {
      const fault = startFaultOf(error);
      if (fault !== undefined || !(error instanceof StoreUnavailableError)) {
        await this.boss?.stop({ close: false, graceful: false });
        const { cause = error } = fault ?? {};
        throw new StateStartError(`DATABASE_URL: the job queue cannot start: ${describe(cause)}`, { cause });
      }
      void this.repeat('cannot start', () => this.open(), this.stopping.signal);
    }
  }

  /** Lets running statements end. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await this.boss?.stop({ close: false, graceful: false });
  }

  /** Throws StoreUnavailableError until it has started. */
  get ready(): PgBoss {
    if (this.running === undefined) throw new StoreUnavailableError('the job queue is not ready yet');
    return this.running;
  }

  get isReady(): boolean {
    return this.running !== undefined;
  }

  /** Resolves when it has started. */
  get whenReady(): Promise<PgBoss> {
    return this.started.promise;
  }

  protected override explain(reason: unknown): string {
    return describe(reason);
  }

  private async open(): Promise<void> {
    this.boss ??= await this.create();
    const boss = await this.boss.start();
    const existing = new Set((await boss.getQueues([...QUEUES])).map(({ name }) => name));
    for (const name of QUEUES) if (!existing.has(name)) await boss.createQueue(name, NEW_QUEUE);
    this.running = boss;
    this.started.resolve(boss);
  }

  private async create(): Promise<PgBoss> {
    // Loaded on demand: STATE=memory does without it.
    const { PgBoss } = await import('pg-boss');
    const boss = new PgBoss({
      db: { executeSql: this.database.library },
      schema: JOBS_SCHEMA,
      ...SUPERVISION,
      maintenanceIntervalSeconds: CLEANING_SECONDS,
      // Nothing is left to migrate, but only with this option does pg-boss accept the schema of a later version.
      migrate: true,
      // What we do not use is put off, or switched off.
      bamIntervalSeconds: DAY,
      flowIntervalSeconds: DAY,
      queueCacheIntervalSeconds: DAY,
      schedule: false,
      registerInstance: false,
      reindex: false,
      monitorVacuum: false,
      openTelemetry: { enabled: false },
    });
    boss.on('error', (error) => this.warn('the job queue fails', error));
    boss.on('warning', ({ message }) => this.warn('the job queue warns', message));
    return boss;
  }
}
