import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

/** Collected bytes that are written at once. */
const FULL_BYTES = 64 * 1024;

/** FIN and the opcode of text. */
const WHOLE_TEXT = 0x81;

/** Supplies the callback for written frames. */
export interface JoinedFramesListener {
  /** The callback for when all collected frames are written, or undefined when no turn waits. */
  whenWritten(): (() => void) | undefined;
}

/**
 * Collects frames until the end of the tick and writes them at once. `ws` has no hook for that: it writes the head and
 * the payload of each frame separately. ASCII messages are framed here (RFC 6455 section 5.2, as a server: without a
 * mask) and joined as a string of one byte per character, which is cheaper than buffers; for all others the stream is
 * corked.
 */
export class JoinedFrames {
  private frames = '';
  private isHolding = false;
  private isCorked = false;

  /** `stream` is the transport under the socket. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly listener: JoinedFramesListener,
  ) {}

  /** Bytes collected and not yet passed to the stream. */
  get length(): number {
    return this.frames.length;
  }

  /** Sends a message uncompressed; false when it has to go through `ws`. The socket must be open. */
  add(message: string): boolean {
    const { length } = message;
    if (this.isSocketBusy || Buffer.byteLength(message) !== length) return false;
    this.hold();
    this.frames += headOf(length) + message;
    if (this.length >= FULL_BYTES) this.write();
    return true;
  }

  /** Corks the stream for a message through `ws`, behind the collected frames. */
  cork(): void {
    this.hold();
    this.makeWay();
  }

  /** Writes the collected frames before a message of `ws`; both leave in one write. */
  makeWay(): void {
    if (!this.isHolding) return;
    if (!this.isCorked) {
      this.isCorked = true;
      this.stream.cork();
    }
    this.write();
  }

  /** Writes everything that is held back. */
  flush(): void {
    this.isHolding = false;
    this.write();
    if (!this.isCorked) return;
    this.isCorked = false;
    this.stream.uncork();
  }

  /**
   * Whether `ws` holds messages that a joined frame would overtake. That happens only behind a message that is being
   * compressed, whose bytes count until it is written. Messages without counted bytes, such as a ping, are written in
   * the same call.
   */
  private get isSocketBusy(): boolean {
    return this.socket.bufferedAmount > this.stream.writableLength;
  }

  private hold(): void {
    if (this.isHolding) return;
    this.isHolding = true;
    // On the next tick, after pending callbacks: setImmediate would be later.
    process.nextTick(flush, this);
  }

  /** Collected frames are dropped when the stream is no longer writable. */
  private write(): void {
    const { frames, stream } = this;
    if (frames === '') return;
    const onWritten = this.listener.whenWritten();
    this.frames = '';
    if (stream.writable) stream.write(frames, 'latin1', onWritten);
  }
}

function flush(joined: JoinedFrames): void {
  joined.flush();
}

function headOf(length: number): string {
  if (length < 126) return String.fromCharCode(WHOLE_TEXT, length);
  if (length < 65_536) return String.fromCharCode(WHOLE_TEXT, 126, length >> 8, length & 0xff);
  const bytes = [length >>> 24, (length >> 16) & 0xff, (length >> 8) & 0xff, length & 0xff];
  return String.fromCharCode(WHOLE_TEXT, 127, 0, 0, 0, 0, ...bytes);
}
