import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { OutageLog } from '../logging/index.js';
import { Clock, type Timer } from '../time/index.js';
import { inOneLine } from './errors.js';
import { ResponseStore } from './response-store.js';

/** Frees expired responses every PURGE_INTERVAL_MS, in batches, so that turns continue in between. */
@Injectable()
export class Retention implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly outages = new OutageLog(new Logger(Retention.name));
  private timer: Timer | null = null;

  constructor(
    private readonly store: ResponseStore,
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
      while (await this.store.purge()) {
        await nextLoopTurn();
        if (this.timer === null) return;
      }
    } catch (error) {
      this.outages.warn('expired responses were not purged', inOneLine(error));
    }
    this.timer?.refresh();
  }
}
