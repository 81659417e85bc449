import type { LogPage } from '../../state/index.js';
import type { Clock, Timer } from '../../time/index.js';

/** How often readers look for events whose notice was lost, ms. */
const POLL_MS = 1000;

/** The log of one response, as the readers of this process follow it together. */
export class FollowedLog {
  /** How many read it. */
  readers = 0;
  /** Reads since the last change: readers at the same place share one. */
  private reads = new Map<string, Promise<LogPage | undefined>>();
  private waiters: (() => void)[] = [];
  private readonly poll: Timer;

  constructor(clock: Clock) {
    this.poll = clock.schedule(POLL_MS, () => this.change());
  }

  /** There may be new events: later reads see them, and those who wait go on. */
  change(): void {
    this.reads = new Map();
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
    this.poll.refresh();
  }

  /** Nobody follows it any more. */
  close(): void {
    this.poll.cancel();
  }

  /** Calls back with the next change. */
  whenChanged(wake: () => void): void {
    this.waiters.push(wake);
  }

  /** The result of a read at a place. */
  read(place: string, read: () => Promise<LogPage | undefined>): Promise<LogPage | undefined> {
    let reading = this.reads.get(place);
    if (reading === undefined) this.reads.set(place, (reading = read()));
    return reading;
  }
}
