import type { Clock, Timer } from '../time/index.js';
import type { FrameWriter } from './frame-writer.js';

/** Pings without an answer after which a client is gone. */
const MAX_SILENT_BEATS = 2;

/** What a heartbeat needs of the connection it belongs to. */
export interface HeartbeatHost {
  readonly writer: FrameWriter;
  /** The client is gone. Called once. */
  dropSilent(): void;
}

/**
 * Pings a client, and notices when it has given no sign of life for two pings. A pong is one, and so is taking something
 * off a backlog, because the ping waits behind it. What the client sends is none: who only talks and never reads would hold
 * its models for ever.
 */
export class Heartbeat {
  private readonly timer: Timer;
  private heard = true;
  private silentBeats = 0;
  private taken: number | null = null;

  constructor(
    private readonly host: HeartbeatHost,
    clock: Clock,
    intervalMs: number,
  ) {
    this.timer = clock.schedule(intervalMs, () => this.beat());
  }

  /** A pong came. */
  hear(): void {
    this.heard = true;
  }

  stop(): void {
    this.timer.cancel();
  }

  private beat(): void {
    const hasRead = this.hasRead();
    this.silentBeats = this.heard || hasRead ? 0 : this.silentBeats + 1;
    this.heard = false;
    if (this.silentBeats === MAX_SILENT_BEATS) {
      this.host.dropSilent();
      return;
    }
    this.host.writer.ping();
    this.timer.refresh();
  }

  /** Whether the client took something of what waited at the last beat. */
  private hasRead(): boolean {
    const before = this.taken;
    this.taken = this.host.writer.taken;
    return before !== null && (this.taken === null || this.taken > before);
  }
}
