import { EventEmitter, once } from 'node:events';

/** Lets packets pass one by one, as a test says. */
export class PacketGate {
  private readonly changes = new EventEmitter().setMaxListeners(0);

  /** `permits` packets pass at once; the others wait. */
  constructor(private permits = Infinity) {}

  /** Lets so many packets pass: those that wait, then those that come. */
  open(count: number): void {
    this.permits += count;
    this.changes.emit('open');
  }

  /** Gives true when it is this packet's turn, false when the signal aborted before that. */
  async pass(signal: AbortSignal): Promise<boolean> {
    while (this.permits < 1 && !signal.aborted) {
      await once(this.changes, 'open', { signal }).catch(() => undefined);
    }
    if (signal.aborted) return false;
    this.permits -= 1;
    return true;
  }
}
