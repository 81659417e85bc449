import { Logger } from '@nestjs/common';

import type { Clock, Timer } from '../../time/index.js';
import type { Redis } from './redis.js';
import { evictionOf } from './requirements.js';

/** How often Redis is asked, ms. */
const INTERVAL_MS = 60_000;

/** Warns once when Redis is told while it runs to delete keys when its memory is full. The service goes on. */
export class EvictionWatch {
  private readonly logger = new Logger('Redis');
  private timer: Timer | undefined;
  private warned: string | undefined;

  constructor(
    private readonly redis: Redis,
    private readonly clock: Clock,
  ) {}

  start(): void {
    this.timer = this.clock.schedule(INTERVAL_MS, () => void this.look());
  }

  stop(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }

  /** Never rejects: what cannot be asked now is asked the next time. */
  private async look(): Promise<void> {
    try {
      const policies = (await this.redis.infos('memory')).map(evictionOf);
      const policy = policies.find((one) => one !== undefined);
      if (policy !== undefined && policy !== this.warned) {
        this.logger.warn(
          `maxmemory-policy is ${policy}: Redis deletes responses when its memory is full. Set it to noeviction.`,
        );
      }
      this.warned = policy;
    } catch {
      // Requests say that Redis is away.
    }
    this.timer?.refresh();
  }
}
