import { Logger } from '@nestjs/common';

import { type Clock, SharedClock, type Timer } from '../time/index.js';
import type { RunNotices } from './notices.js';

/** How often the clock of the storage is looked at, ms: quartz drifts by a few milliseconds in that time. */
const INTERVAL_MS = 60_000;
/** A difference that is worth a warning, ms: that of clocks that nobody synchronises. */
const LARGE_MS = 5000;

/** What the clock of a process follows. */
export interface TimeSource {
  /** As operators call it. */
  readonly name: string;
  /** Reads the clock of the storage, milliseconds since the Unix epoch. Throws StoreUnavailableError. */
  readonly read: () => Promise<number>;
  /** Says when the storage may be another server than before. */
  readonly notices: RunNotices;
}

/**
 * Has the clock of this process follow that of the storage, so that replicas agree on the time. A clock that is no SharedClock is left
 * alone.
 */
export class SharedTime {
  private readonly logger = new Logger('Clock');
  private readonly clock: SharedClock | undefined;
  private timer: Timer | null = null;
  private ignoreNotices: (() => void) | undefined;
  private hasWarned = false;
  private hasStopped = false;

  constructor(
    clock: Clock,
    private readonly source: TimeSource,
  ) {
    this.clock = clock instanceof SharedClock ? clock : undefined;
  }

  /** Sets the clock, and keeps it right from then on. To be awaited before anything is stored. Throws StoreUnavailableError. */
  async start(): Promise<void> {
    if (this.clock === undefined) return;
    await this.look(this.clock);
    if (this.hasStopped) return;
    this.timer ??= this.clock.schedule(INTERVAL_MS, () => this.lookAgain());
    this.ignoreNotices ??= this.source.notices.subscribe({ resumed: () => this.lookAgain() });
  }

  stop(): void {
    this.hasStopped = true;
    this.ignoreNotices?.();
    this.timer?.cancel();
    this.timer = null;
  }

  private lookAgain(): void {
    if (this.clock === undefined) return;
    // While the storage is away, the clock goes on by itself; that it is away, others say.
    void this.look(this.clock)
      .catch(() => undefined)
      .finally(() => this.timer?.refresh());
  }

  private async look(clock: SharedClock): Promise<void> {
    await clock.follow(this.source.read);
    const { offsetMs = 0 } = clock;
    if (this.hasWarned || Math.abs(offsetMs) <= LARGE_MS) return;
    this.hasWarned = true;
    const [seconds, where] = [Math.round(Math.abs(offsetMs) / 1000), offsetMs > 0 ? 'behind' : 'ahead of'];
    this.logger.warn(
      `the clock of this machine is ${seconds} s ${where} that of ${this.source.name}, which all replicas go by. Synchronise both with NTP`,
    );
  }
}
