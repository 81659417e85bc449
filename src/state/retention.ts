import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { OutageLog } from '../logging/index.js';
import { Clock, type Timer } from '../time/index.js';
import { inOneLine } from './errors.js';
import { ResponseStore } from './response-store.js';
import { StateBackend } from './state-backend.js';
import { DAY_MS } from './usage-store.js';

/** Frees what has expired; whether there may be more. */
export type Purge = () => Promise<boolean>;

/**
 * Frees what has expired every PURGE_INTERVAL_MS, in batches, so that turns continue in between: responses, usage after USAGE_RETENTION_DAYS,
 * and what others have added.
 */
@Injectable()
export class Retention implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger('Retention'));
  private readonly added: Purge[] = [];
  private timer: Timer | null = null;

  constructor(
    private readonly store: ResponseStore,
    private readonly backend: StateBackend,
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

  /** Purges something else as well, behind what was added before. */
  add(purgeBatch: Purge): void {
    this.added.push(purgeBatch);
  }

  /** As `add`, for what another service may make slow: the other purges do not wait for it. Where it still runs, it does not begin again. */
  addSlow(purgeBatch: Purge): void {
    let isRunning = false;
    this.add(() => {
      if (!isRunning) {
        isRunning = true;
        void this.purgeAll(purgeBatch)
          .catch((error: unknown) => this.warn(error))
          .finally(() => (isRunning = false));
      }
      return Promise.resolve(false);
    });
  }

  private async purge(): Promise<void> {
    try {
      await this.purgeAll(() => this.store.purge());
      const { usage } = this.backend;
      const keptSince = this.clock.now() - this.environment.USAGE_RETENTION_DAYS * DAY_MS;
      if (usage !== undefined) await this.purgeAll(() => usage.purge(keptSince));
      for (const purgeBatch of this.added) await this.purgeAll(purgeBatch);
    } catch (error) {
      this.warn(error);
    }
    this.timer?.refresh();
  }

  private warn(error: unknown): void {
    this.outages.warn('what has expired was not purged', inOneLine(error));
  }

  private async purgeAll(purgeBatch: Purge): Promise<void> {
    while (this.timer !== null && (await purgeBatch())) await nextLoopTurn();
  }
}
