import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { OutageLog } from '../logging/index.js';
import { Clock, type Timer } from '../time/index.js';
import { inOneLine } from './errors.js';
import { ResponseStore } from './response-store.js';
import { LibraryBackend, StateBackend } from './state-backend.js';
import { DAY_MS } from './usage-store.js';

/** Frees expired responses and files, and usage after USAGE_RETENTION_DAYS, every PURGE_INTERVAL_MS, in batches, so that turns continue in between. */
@Injectable()
export class Retention implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger(Retention.name));
  private timer: Timer | null = null;

  constructor(
    private readonly store: ResponseStore,
    private readonly backend: StateBackend,
    private readonly library: LibraryBackend,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = this.clock.schedule(this.environment.PURGE_INTERVAL_MS, () => void this.purge());
  }

  onApplicationShutdown(): void {
    this.timer?.cancel();
    this.timer = null;
  }

  private async purge(): Promise<void> {
    try {
      await this.purgeAll(() => this.store.purge());
      const { usage } = this.backend;
      const keptSince = this.clock.now() - this.environment.USAGE_RETENTION_DAYS * DAY_MS;
      if (usage !== undefined) await this.purgeAll(() => usage.purge(keptSince));
      const { files, vectorStores } = this.library;
      if (files !== undefined) await this.purgeAll(() => files.purge());
      if (vectorStores !== undefined) await this.purgeAll(() => vectorStores.purge());
    } catch (error) {
      this.outages.warn('what has expired was not purged', inOneLine(error));
    }
    this.timer?.refresh();
  }

  private async purgeAll(purgeBatch: () => Promise<boolean>): Promise<void> {
    while (this.timer !== null && (await purgeBatch())) await nextLoopTurn();
  }
}
