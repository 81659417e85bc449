import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

/** Collected bytes that are worth a write of their own. */
const FULL_BYTES = 64 * 1024;

/** FIN and the opcode of text. */
const WHOLE_TEXT = 0x81;

/** What joined frames need of who sends them. */
export interface JoinedFramesHost {
  /** What to call when everything that was collected is written, if anybody may wait for that. */
  whenWritten(): (() => void) | undefined;
}

/**
 * Holds back what is sent until the end of the tick, and writes it at once. `ws` has no hook for that: it writes the head and
 * the payload of each frame by themselves. Messages of ASCII are framed here (RFC 6455 section 5.2, as a server: without a
 * mask) and joined as a string of one byte per character, which costs less than buffers do; the stream is corked for the rest.
 */
export class JoinedFrames {
  private frames = '';
  private isHolding = false;
  private isCorked = false;

  /** `stream` is the transport under the socket. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly host: JoinedFramesHost,
  ) {}

  /** Bytes that are collected and not handed to the stream. */
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

  /** Holds back what goes through `ws` next, and lets it follow what was collected. */
  cork(): void {
    this.hold();
    this.makeWay();
  }

  /** Lets what was collected go first: `ws` writes something next. Both leave together. */
  makeWay(): void {
    if (!this.isHolding) return;
    if (!this.isCorked) {
      this.isCorked = true;
      this.stream.cork();
    }
    this.write();
  }

  /** Lets go what is held back. */
  flush(): void {
    this.isHolding = false;
    this.write();
    if (!this.isCorked) return;
    this.isCorked = false;
    this.stream.uncork();
  }

  /**
   * Whether `ws` holds messages that a frame of ours would overtake. It does so only behind one that is being compressed, and
   * counts the bytes of that one until it is written. What counts nothing, such as a ping, leaves in the same call.
   */
  private get isSocketBusy(): boolean {
    return this.socket.bufferedAmount > this.stream.writableLength;
  }

  private hold(): void {
    if (this.isHolding) return;
    this.isHolding = true;
    // After what can go on without waiting for anything: a turn of the event loop would be later than that.
    process.nextTick(flush, this);
  }

  /** What is collected is dropped when the stream takes nothing any more. */
  private write(): void {
    const { frames, stream } = this;
    if (frames === '') return;
    const onWritten = this.host.whenWritten();
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
