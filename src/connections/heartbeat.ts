import type { Clock, Timer } from '../time/index.js';
import type { FrameWriter } from './frame-writer.js';

/** Unanswered pings after which a client is disconnected. */
const MAX_SILENT_BEATS = 2;

/** The connection that a heartbeat checks. */
export interface HeartbeatDependencies {
  readonly writer: FrameWriter;
  /** The client does not respond. Called once. */
  dropSilent(): void;
}

/**
 * Pings a client and reports when two pings in a row have no effect. A pong counts, and so does reading pending
 * messages, because the ping is queued behind them. Messages from the client do not count: a client that sends but
 * never reads would block its models indefinitely.
 */
export class Heartbeat {
  private readonly timer: Timer;
  private hasPong = true;
  private silentBeats = 0;
  private taken: number | null = null;

  constructor(
    private readonly dependencies: HeartbeatDependencies,
    clock: Clock,
    intervalMs: number,
  ) {
    this.timer = clock.schedule(intervalMs, () => this.beat());
  }

  /** A pong arrived. */
  onPong(): void {
    this.hasPong = true;
  }

  stop(): void {
    this.timer.cancel();
  }

  private beat(): void {
    const hasRead = this.hasRead();
    this.silentBeats = this.hasPong || hasRead ? 0 : this.silentBeats + 1;
    this.hasPong = false;
    if (this.silentBeats === MAX_SILENT_BEATS) {
      this.dependencies.dropSilent();
      return;
    }
    this.dependencies.writer.ping();
    this.timer.refresh();
  }

  /** Whether the client read some of what was pending at the last ping. */
  private hasRead(): boolean {
    const before = this.taken;
    this.taken = this.dependencies.writer.taken;
    return before !== null && (this.taken === null || this.taken > before);
  }
}
