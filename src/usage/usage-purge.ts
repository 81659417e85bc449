import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { OutageLog } from '../logging/index.js';
import { DAY_MS, inOneLine, StateBackend } from '../state/index.js';
import { Clock, type Timer } from '../time/index.js';

/** Forgets usage that has expired, every PURGE_INTERVAL_MS, in batches. */
@Injectable()
export class UsagePurge implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages: OutageLog;
  private timer: Timer | null = null;

  constructor(
    private readonly backend: StateBackend,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {
    this.outages = new OutageLog(new Logger(UsagePurge.name), clock);
  }

  onApplicationBootstrap(): void {
    if (this.backend.usage === undefined) return;
    this.timer = this.clock.schedule(this.environment.PURGE_INTERVAL_MS, () => void this.purge());
  }

  onApplicationShutdown(): void {
    this.timer?.cancel();
    this.timer = null;
  }

  private async purge(): Promise<void> {
    try {
      const { USAGE_RETENTION_DAYS: days } = this.environment;
      while ((await this.backend.usage?.purge(this.clock.now() - days * DAY_MS)) === true) {
        await nextLoopTurn();
        if (this.timer === null) return;
      }
    } catch (error) {
      this.outages.warn('expired usage was not purged', inOneLine(error));
    }
    this.timer?.refresh();
  }
}
