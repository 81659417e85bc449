import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { OutageLog } from '../../logging/index.js';
import { TurnObserver, type TurnRecord, UsageRecords } from '../../responses/index.js';
import { inOneLine, StateBackend, type UsageRecord, type UsageStore } from '../../state/index.js';
import { Clock, LastWaits, type Timer } from '../../time/index.js';

/** How long a record waits for others, ms. */
const FLUSH_MS = 1000;
/** Records that are written at once. */
const BATCH = 100;
/** Records that wait for a storage that is not available; beyond it the oldest are lost, which is logged. */
const MAX_WAITING = 10_000;

/**
 * Records in batches what turns have used whose responses are not stored; the others are recorded together with their responses. A process
 * that dies loses the batch that waits.
 */
@Injectable()
export class UsageRecorder extends TurnObserver implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('UsageRecorder');
  private readonly outages: OutageLog;
  private readonly store: UsageStore | undefined;
  private readonly retentionDays: number;
  private waiting: UsageRecord[] = [];
  private timer: Timer | null = null;
  private flushing: Promise<void> | null = null;
  private hasStopped = false;

  constructor(
    backend: StateBackend,
    private readonly records: UsageRecords,
    private readonly clock: Clock,
    private readonly lastWaits: LastWaits,
    { USAGE_RETENTION_DAYS }: Environment,
  ) {
    super();
    this.outages = new OutageLog(this.logger, clock);
    this.retentionDays = USAGE_RETENTION_DAYS;
    this.store = USAGE_RETENTION_DAYS === 0 ? undefined : backend.usage;
  }

  onApplicationBootstrap(): void {
    if (this.store === undefined && this.retentionDays > 0)
      this.logger.warn('the state backend has no UsageStore: usage is not recorded');
  }

  override settled(turn: TurnRecord): void {
    if (this.store === undefined || turn.isUsageStored) return;
    const record = this.records.of({ ...turn, endedAt: turn.startedAt + turn.durationMs });
    if (record !== undefined) this.add(record);
  }

  /** Records what a request has used that is no turn, if usage is recorded. */
  add(record: UsageRecord): void {
    if (this.store === undefined) return;
    if (this.waiting.length >= MAX_WAITING) {
      this.waiting.shift();
      this.outages.warn('usage was lost', `more than ${MAX_WAITING} records wait for the storage`);
    }
    this.waiting.push(record);
    // Not at every record beyond a batch: a storage that is not available is asked once a second.
    if (this.waiting.length === BATCH) void this.tryToFlush();
    else this.timer ??= this.clock.schedule(FLUSH_MS, () => void this.tryToFlush());
  }

  /** Writes what waits. Throws StoreUnavailableError; then it waits for the next attempt. */
  async flush(): Promise<void> {
    // The one that runs may have begun before the latest record came.
    if (this.flushing !== null) await this.flushing.catch(() => undefined);
    this.flushing ??= this.write().finally(() => (this.flushing = null));
    return this.flushing;
  }

  async onApplicationShutdown(): Promise<void> {
    // Imported modules, among them the state, stop after this one.
    this.hasStopped = true;
    await this.lastWaits.wait(this.tryToFlush());
    if (this.waiting.length > 0) this.logger.warn(`usage was lost (turns: ${this.waiting.length})`);
  }

  private async tryToFlush(): Promise<void> {
    this.timer?.cancel();
    this.timer = null;
    try {
      await this.flush();
    } catch (error) {
      this.outages.warn('usage was not recorded yet', inOneLine(error));
      if (!this.hasStopped) this.timer ??= this.clock.schedule(FLUSH_MS, () => void this.tryToFlush());
    }
  }

  private async write(): Promise<void> {
    while (this.store !== undefined && this.waiting.length > 0) {
      const batch = this.waiting.slice(0, BATCH);
      await this.store.record(batch);
      const written = new Set(batch);
      // Some of them may have been dropped meanwhile.
      this.waiting = this.waiting.filter((record) => !written.has(record));
    }
  }
}
