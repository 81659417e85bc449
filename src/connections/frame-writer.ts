import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import type { Clock, Timer } from '../time/index.js';
import { JoinedFrames, type JoinedFramesHost } from './joined-frames.js';

/** Unread bytes beyond which turns wait for the client. */
const HOLD_BACK_BYTES = 256 * 1024;

/** How long a client that has left too much unread may take nothing before it is given up, ms. */
const STANDSTILL_MS = 1000;

/** Longest frame that clients take; a longer message is sent in fragments (RFC 6455 section 5.4). */
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

/** Shorter messages cost more to compress than to send, and a threshold of `ws` would not hold for them. */
const COMPRESSION_THRESHOLD = 1024;

/** What an answer that waits takes beyond its text, roughly. */
const ANSWER_OVERHEAD_BYTES = 256;

const PLAIN = { binary: false, compress: false } as const;
const COMPRESSED = { binary: false, compress: true } as const;

/** A UTF-16 unit becomes at most this many bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/** What `net.Socket` knows beyond its types. */
type NetInternals = Duplex & {
  readonly bytesWritten?: number;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
};

/** What a writer needs of the connection it belongs to. */
export interface FrameWriterHost {
  /** The client has left too much unread and takes nothing of it. */
  dropSlowReader(): void;
}

/**
 * Writes messages to one client. What comes together leaves in one write. It never waits by itself:
 * turns ask `isBehind` before each message and wait for `caughtUp`; what cannot wait, such as error frames, is an `answer`. A
 * client is given up that leaves more than `maxBufferedBytes` of answers unread, or of anything while it takes nothing.
 */
export class FrameWriter implements JoinedFramesHost {
  /** Made for the first message: thousands of sockets may be open that never get any. */
  private joined: JoinedFrames | null = null;
  private readonly waiting: (() => void)[] = [];
  private readonly holdBackBytes: number;
  private watch: Timer | null = null;
  private answered = 0;
  private isPonging = false;
  private nextPong: Buffer | null = null;
  /** Told when what a turn may wait for is written. */
  private onWritten: (() => void) | undefined;

  /** `stream` is the transport under the socket. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly clock: Clock,
    private readonly maxBufferedBytes: number,
    private readonly host: FrameWriterHost,
  ) {
    this.holdBackBytes = Math.min(HOLD_BACK_BYTES, maxBufferedBytes / 2);
  }

  /** Sends a message, a JSON text. Sends nothing once the socket is closing. */
  send(message: string): void {
    if (!this.makeReady()) return;
    const { length } = message;
    this.joined ??= new JoinedFrames(this.socket, this.stream, this);
    const isCompressed = length >= COMPRESSION_THRESHOLD && this.socket.extensions !== '';
    if (isCompressed || length > MAX_FRAME_BYTES || !this.joined.add(message)) {
      this.joined.cork();
      this.sendThroughSocket(message);
    }
    this.watchOver();
  }

  /** Sends a message that cannot wait. A client that asks and never reads must not fill our memory with answers. */
  answer(message: string): void {
    if (this.charge(message.length)) this.send(message);
  }

  /**
   * Answers a ping. Of pings that come while an answer waits to be read only the latest is answered (RFC 6455 section
   * 5.5.3): a client that pings and never reads fills nothing.
   */
  pong(data: Buffer): void {
    if (this.isPonging) {
      this.nextPong = Buffer.from(data);
      return;
    }
    if (!this.makeReady()) return;
    this.isPonging = true;
    this.makeWay();
    this.socket.pong(data, false, () => this.onPonged());
  }

  /** Asks for a sign of life. */
  ping(): void {
    if (!this.makeReady()) return;
    this.makeWay();
    this.socket.ping('', false, this.onWritten);
  }

  /** Resolves when everything sent so far has left, or the socket is gone. */
  async allSent(): Promise<void> {
    if (!this.makeReady()) return;
    this.makeWay();
    // Messages are compressed one after another; a ping goes behind them all and tells when it has left.
    await new Promise<void>((resolve) => this.socket.ping('', false, () => resolve()));
  }

  /** Whether the client is so far behind that its turns should wait. */
  get isBehind(): boolean {
    return this.unread > this.holdBackBytes;
  }

  /** Resolves when the client has caught up and it is the caller's turn to write, or when the client is gone. */
  caughtUp(): Promise<void> {
    const { socket } = this;
    if (!this.isBehind || socket.readyState === socket.CLOSED) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Bytes that the client's side has taken so far, or null when nothing waits for it. */
  get taken(): number | null {
    const { stream, collected } = this;
    // One write may be large, and what is left of it only the handle knows; net's own inactivity timer looks there too.
    const { bytesWritten = 0, _handle: handle } = stream as NetInternals;
    const inFlight = handle?.writeQueueSize ?? 0;
    const waiting = stream.writableLength + collected;
    return waiting === 0 && inFlight === 0 ? null : bytesWritten + collected - Math.max(waiting, inFlight);
  }

  /** Lets what was sent so far go first: `ws` writes something next. */
  makeWay(): void {
    this.joined?.makeWay();
  }

  /** Lets go what is held back. */
  flush(): void {
    this.joined?.flush();
  }

  whenWritten(): (() => void) | undefined {
    return this.mayBeWaitedFor(0) ? this.onWritten : undefined;
  }

  /** The socket is closed: nobody waits for its client any more. */
  end(): void {
    this.watch?.cancel();
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Bytes that are not handed to the stream yet. */
  private get collected(): number {
    return this.joined?.length ?? 0;
  }

  /** Bytes that the client has not taken. */
  private get unread(): number {
    return this.socket.bufferedAmount + this.collected;
  }

  /** False when nothing can be sent. */
  private makeReady(): boolean {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return false;
    this.onWritten ??= () => this.wakeNext();
    return true;
  }

  private sendThroughSocket(message: string): void {
    const mostBytes = message.length * MAX_BYTES_PER_UNIT;
    if (mostBytes > MAX_FRAME_BYTES) this.sendInFragments(Buffer.from(message));
    else {
      const options = message.length < COMPRESSION_THRESHOLD ? PLAIN : COMPRESSED;
      this.socket.send(message, options, this.mayBeWaitedFor(mostBytes) ? this.onWritten : undefined);
    }
  }

  /** Whether a turn may have to wait after a message of this size: then it must be heard when that one is written. */
  private mayBeWaitedFor(bytes: number): boolean {
    return this.unread + bytes > this.holdBackBytes / 2;
  }

  private sendInFragments(message: Buffer): void {
    for (let start = 0; start < message.length; start += MAX_FRAME_BYTES) {
      const end = start + MAX_FRAME_BYTES;
      this.socket.send(message.subarray(start, end), { ...COMPRESSED, fin: end >= message.length }, this.onWritten);
    }
  }

  /** Gives up a client that has left too much unread, unless it is reading: an answer may be larger than the limit. */
  private watchOver(): void {
    const { clock, maxBufferedBytes } = this;
    if (this.watch !== null || this.unread <= maxBufferedBytes) return;
    let before = this.taken;
    this.watch = clock.schedule(STANDSTILL_MS, () => {
      if (this.unread <= maxBufferedBytes) {
        this.watch = null;
        return;
      }
      const { taken } = this;
      if (taken !== null && taken === before) {
        this.host.dropSlowReader();
        return;
      }
      before = taken;
      this.watch?.refresh();
    });
  }

  /** Whether there is room for an answer that cannot wait: all that were written since the client last kept up count. */
  private charge(bytes: number): boolean {
    if (!this.isBehind) this.answered = 0;
    if (this.answered > this.maxBufferedBytes) {
      this.host.dropSlowReader();
      return false;
    }
    this.answered += bytes + ANSWER_OVERHEAD_BYTES;
    return true;
  }

  private onPonged(): void {
    const { nextPong } = this;
    this.isPonging = false;
    this.nextPong = null;
    if (nextPong !== null) this.pong(nextPong);
    this.wakeNext();
  }

  /** One at a time: what the first one writes may be all that the client can take now. */
  private wakeNext(): void {
    if (this.waiting.length === 0 || this.isBehind) return;
    this.waiting.shift()?.();
    if (this.waiting.length > 0) setImmediate(() => this.wakeNext());
  }
}
