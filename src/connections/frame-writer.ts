import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

import type { Clock, Timer } from '../time/index.js';
import { bytesTaken } from './bytes-taken.js';
import { JoinedFrames, type JoinedFramesListener } from './joined-frames.js';

/** Unread bytes beyond which turns wait for the client to read. */
const HOLD_BACK_BYTES = 256 * 1024;

/** How long a client beyond its limit of unread bytes may read nothing before it is disconnected, ms. */
const STANDSTILL_MS = 1000;

/** Longest frame that clients accept; a longer message is sent in fragments (RFC 6455 section 5.4). */
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

/**
 * Messages below this length are not compressed: compressing costs more than sending. The threshold of `ws` does not
 * apply to joined frames.
 */
const COMPRESSION_THRESHOLD = 1024;

/** Estimated bytes of a pending answer beyond its text. */
const ANSWER_OVERHEAD_BYTES = 256;

const PLAIN = { binary: false, compress: false } as const;
const COMPRESSED = { binary: false, compress: true } as const;

/** A UTF-16 unit becomes at most this many bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/** Events of a FrameWriter. */
export interface FrameWriterListener {
  /** The client exceeds its limit of unread bytes and reads nothing. */
  dropSlowReader(): void;
}

/**
 * Writes messages to one client; messages of one tick leave in one write. `send` never waits: turns check `isBehind`
 * before each message and await `caughtUp`; messages that cannot wait, such as error frames, use `answer`. A client is
 * disconnected when it leaves more than `maxBufferedBytes` of answers unread, or of any messages while it reads
 * nothing.
 */
export class FrameWriter implements JoinedFramesListener {
  /** Created with the first message: thousands of sockets may be open that never receive any. */
  private joined: JoinedFrames | null = null;
  private readonly waiting: (() => void)[] = [];
  private readonly holdBackBytes: number;
  private watch: Timer | null = null;
  private answered = 0;
  private isPonging = false;
  private nextPong: Buffer | null = null;
  /** Called when a message that a turn may wait for is written. */
  private onWritten: (() => void) | undefined;

  /** `stream` is the transport under the socket. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly clock: Clock,
    private readonly maxBufferedBytes: number,
    private readonly listener: FrameWriterListener,
  ) {
    this.holdBackBytes = Math.min(HOLD_BACK_BYTES, maxBufferedBytes / 2);
  }

  /** Sends a JSON text. Does nothing once the socket is closing. */
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

  /**
   * Sends a message that cannot wait. Bounded, so that a client that never reads cannot fill the memory with answers.
   */
  answer(message: string): void {
    if (this.charge(message.length)) this.send(message);
  }

  /**
   * Answers a ping. While an answer is unread, only the latest ping is answered (RFC 6455 section 5.5.3), so that pings
   * cannot fill the memory.
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

  /** Sends a ping. */
  ping(): void {
    if (!this.makeReady()) return;
    this.makeWay();
    this.socket.ping('', false, this.onWritten);
  }

  /** Resolves when all pending messages are sent, or the socket is closed. */
  async allSent(): Promise<void> {
    if (!this.makeReady()) return;
    this.makeWay();
    // Messages are compressed one after another; a ping is sent after all of them and reports completion.
    await new Promise<void>((resolve) => this.socket.ping('', false, () => resolve()));
  }

  /** Whether turns should wait for the client to read. */
  get isBehind(): boolean {
    return this.unread > this.holdBackBytes;
  }

  /** Resolves when the client has caught up and this caller may write, or when the connection is closed. */
  caughtUp(): Promise<void> {
    const { socket } = this;
    if (!this.isBehind || socket.readyState === socket.CLOSED) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** Bytes that the client has received so far, or null when nothing is pending. */
  get taken(): number | null {
    return bytesTaken(this.stream, this.collected);
  }

  /** Flushes joined frames into the stream, before `ws` writes something. */
  makeWay(): void {
    this.joined?.makeWay();
  }

  /** Writes everything that is held back. */
  flush(): void {
    this.joined?.flush();
  }

  whenWritten(): (() => void) | undefined {
    return this.mayBeWaitedFor(0) ? this.onWritten : undefined;
  }

  /** The socket is closed: releases all waiting turns. */
  end(): void {
    this.watch?.cancel();
    for (const wake of this.waiting.splice(0)) wake();
  }

  /** Bytes not yet passed to the stream. */
  private get collected(): number {
    return this.joined?.length ?? 0;
  }

  /** Bytes that the client has not received. */
  private get unread(): number {
    return this.socket.bufferedAmount + this.collected;
  }

  /** False when nothing can be sent. */
  private makeReady(): boolean {
    const { socket } = this;
    if (socket.readyState !== socket.OPEN) return false;
    if (this.onWritten === undefined) {
      const onWritten = (): void => this.wakeNext();
      this.onWritten = onWritten;
    }
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

  /** Whether a turn may have to wait after a message of this size and so needs a callback when it is written. */
  private mayBeWaitedFor(bytes: number): boolean {
    return this.unread + bytes > this.holdBackBytes / 2;
  }

  private sendInFragments(message: Buffer): void {
    for (let start = 0; start < message.length; start += MAX_FRAME_BYTES) {
      const end = start + MAX_FRAME_BYTES;
      this.socket.send(message.subarray(start, end), { ...COMPRESSED, fin: end >= message.length }, this.onWritten);
    }
  }

  /**
   * Disconnects a client beyond its limit of unread bytes unless it is reading: a single answer may exceed the limit.
   */
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
        this.listener.dropSlowReader();
        return;
      }
      before = taken;
      this.watch?.refresh();
    });
  }

  /** Whether an answer fits the limit: counts all answers since the client last caught up. */
  private charge(bytes: number): boolean {
    if (!this.isBehind) this.answered = 0;
    if (this.answered > this.maxBufferedBytes) {
      this.listener.dropSlowReader();
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

  /** One at a time: its messages may already fill the buffer again. */
  private wakeNext(): void {
    if (this.waiting.length === 0 || this.isBehind) return;
    this.waiting.shift()?.();
    if (this.waiting.length > 0) setImmediate(() => this.wakeNext());
  }
}
