import { Injectable, Logger } from '@nestjs/common';

import { OutageLog } from '../logging/index.js';
import { type Counted, inOneLine, type SharedLimits, StateBackend, type Take } from '../state/index.js';
import { Clock, type MaybePromise, type Timer } from '../time/index.js';
import { LocalWindows } from './local-windows.js';
import { Refusals } from './refusals.js';

/** Tokens are settled together after so long, ms. */
const SETTLE_MS = 250;
/** After a failure of the storage the process counts for itself for so long, ms: turns do not wait for one timeout after another. */
const AWAY_MS = 1000;

/**
 * Requests and tokens of a minute, for all replicas where the state is shared. While its storage is unavailable, and without one, the
 * process counts for itself: a limiter must not take the service down.
 */
@Injectable()
export class Windows {
  private readonly outages = new OutageLog(new Logger('Limits'));
  private readonly shared: SharedLimits | undefined;
  private readonly local: LocalWindows;
  private readonly refusals: Refusals;
  /** Tokens to settle, by counter. */
  private unsettled = new Map<string, number>();
  private timer: Timer | null = null;
  private settling: Promise<void> = Promise.resolve();
  private awayUntil = 0;

  constructor(
    backend: StateBackend,
    private readonly clock: Clock,
  ) {
    this.shared = backend.limits;
    this.local = new LocalWindows(clock);
    this.refusals = new Refusals(clock);
  }

  /** Counts one request and its tokens if there is room for both. No promise unless the state is shared. Never rejects. */
  count(take: Take): MaybePromise<Counted> {
    if (this.shared === undefined || this.clock.now() < this.awayUntil) return this.local.count(take);
    return this.refusals.find(take) ?? this.countShared(this.shared, take);
  }

  /** Adds tokens to a counter, or gives them back if negative; for other replicas within SETTLE_MS. */
  settle(key: string, tokens: number): void {
    if (tokens === 0) return;
    if (this.shared === undefined) {
      this.local.settle(key, tokens);
      return;
    }
    this.unsettled.set(key, (this.unsettled.get(key) ?? 0) + tokens);
    this.timer ??= this.clock.schedule(SETTLE_MS, () => this.flush());
  }

  /** Sends what is left to settle. Never rejects. */
  close(): Promise<void> {
    this.flush();
    return this.settling;
  }

  private async countShared(shared: SharedLimits, take: Take): Promise<Counted> {
    try {
      const counted = await shared.count(take);
      if (!counted.admitted) this.refusals.remember(take, counted);
      return counted;
    } catch (error) {
      this.goAway(error);
      return this.local.count(take);
    }
  }

  private flush(): void {
    this.timer?.cancel();
    this.timer = null;
    const { shared, unsettled } = this;
    if (shared === undefined || unsettled.size === 0) return;
    this.unsettled = new Map();
    this.settling = this.settling.then(() => shared.settle(unsettled)).catch((error: unknown) => this.goAway(error));
  }

  private goAway(error: unknown): void {
    this.awayUntil = this.clock.now() + AWAY_MS;
    this.outages.warn('limits are counted by each process for itself', inOneLine(error));
  }
}
