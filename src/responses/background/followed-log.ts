import { isTerminalEvent, type StreamEvent } from '../../protocol/index.js';
import type { LogPage } from '../../state/index.js';
import type { Clock, Timer } from '../../time/index.js';

/** How often readers look for events whose notice was lost, ms. */
const POLL_MS = 1000;

/** Events of a log. */
export type LogEvents = Exclude<LogPage, { missing: unknown }>;

const NOTHING: LogEvents = { events: [], isLast: false };

/** The log of one response, as the readers of this process follow it together. */
export class FollowedLog {
  /** How many read it. */
  readers = 0;
  /** The events that this process has added last; null when there may be others after them. */
  private latest: LogEvents | null = null;
  /** Reads since the last change: readers at the same place share one. */
  private reads = new Map<string, Promise<LogPage | undefined>>();
  private waiters: (() => void)[] = [];
  private readonly poll: Timer;

  constructor(clock: Clock) {
    this.poll = clock.schedule(POLL_MS, () => this.change());
  }

  /**
   * There are new events: later reads see them, and those who wait go on. If this process has added them, they are given,
   * and readers who wait for them need no read.
   */
  change(events?: readonly StreamEvent[]): void {
    this.latest = events === undefined ? null : { events, isLast: isTerminalEvent(events.at(-1)) };
    if (this.reads.size > 0) this.reads = new Map();
    const { waiters } = this;
    this.waiters = [];
    for (const wake of waiters) wake();
    this.poll.refresh();
  }

  /** The last reader has left. */
  close(): void {
    this.poll.cancel();
  }

  /** Calls back with the next change. */
  whenChanged(wake: () => void): void {
    this.waiters.push(wake);
  }

  /** What follows a number, if that is known without a read: the latest events, or none yet. */
  known(after: number): LogEvents | undefined {
    const { latest } = this;
    if (latest === null) return undefined;
    if (latest.events[0]?.sequenceNumber === after + 1) return latest;
    return latest.events.at(-1)?.sequenceNumber === after ? NOTHING : undefined;
  }

  /** The result of a read at a place. */
  read(place: string, read: () => Promise<LogPage | undefined>): Promise<LogPage | undefined> {
    let reading = this.reads.get(place);
    if (reading === undefined) this.reads.set(place, (reading = read()));
    return reading;
  }
}
