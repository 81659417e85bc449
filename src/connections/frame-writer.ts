import type { Duplex } from 'node:stream';

import type { WebSocket } from 'ws';

/** Unread bytes beyond which turns wait for the client. */
const HOLD_BACK_BYTES = 256 * 1024;

/** Longest frame that clients take; a longer message is sent in fragments (RFC 6455 section 5.4). */
const MAX_FRAME_BYTES = 8 * 1024 * 1024;

/** Shorter messages cost more to compress than to send, and a threshold of `ws` would not hold for them. */
const COMPRESSION_THRESHOLD = 1024;

const PLAIN = { binary: false, compress: false } as const;
const COMPRESSED = { binary: false, compress: true } as const;

/** A UTF-16 unit becomes at most this many bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/** Messages that the client has not taken yet. */
export interface Backlog {
  /** Bytes it has taken since the connection began. */
  readonly taken: number;
}

/**
 * Writes messages to one client. What comes in one turn of the event loop leaves in one write. A writer never waits by
 * itself: turns ask `isBehind` and wait for `caughtUp`; whoever writes on although the client does not read at all is
 * stopped at `maxBufferedBytes`.
 */
export class FrameWriter {
  private corked = false;
  private waiting: PromiseWithResolvers<undefined> | null = null;
  private readonly holdBackBytes: number;

  /** `stream` is the transport under the socket; `onOverflow` is called when the client has left too much unread. */
  constructor(
    private readonly socket: WebSocket,
    private readonly stream: Duplex,
    private readonly maxBufferedBytes: number,
    private readonly onOverflow: () => void,
  ) {
    this.holdBackBytes = Math.min(HOLD_BACK_BYTES, maxBufferedBytes / 2);
    socket.once('close', () => this.release());
  }

  /** Sends messages, each a JSON text. Sends nothing once the socket is closing. */
  send(messages: readonly string[]): void {
    const last = messages.length - 1;
    for (const [index, message] of messages.entries()) {
      if (!this.makeReady()) return;
      const onWritten = index === last ? this.onWritten : undefined;
      const options = message.length < COMPRESSION_THRESHOLD ? PLAIN : COMPRESSED;
      if (message.length * MAX_BYTES_PER_UNIT <= MAX_FRAME_BYTES) this.socket.send(message, options, onWritten);
      else this.sendInFragments(Buffer.from(message), onWritten);
    }
  }

  /** Answers a ping; a client that pings and never reads must not fill our memory either. */
  pong(data: Buffer): void {
    if (this.makeReady()) this.socket.pong(data);
  }

  /** Whether the client is so far behind that its turns should wait. */
  get isBehind(): boolean {
    return this.socket.bufferedAmount > this.holdBackBytes;
  }

  /** Resolves when the client has caught up, or is gone. */
  caughtUp(): Promise<unknown> {
    if (!this.isBehind || this.socket.readyState === this.socket.CLOSED) return Promise.resolve();
    this.waiting ??= Promise.withResolvers();
    return this.waiting.promise;
  }

  /** What waits because the client does not read fast enough; null when nothing does. */
  get backlog(): Backlog | null {
    const { bytesWritten = 0 } = this.stream as Duplex & { readonly bytesWritten?: number };
    const waiting = this.stream.writableLength;
    return waiting === 0 ? null : { taken: bytesWritten - waiting };
  }

  /** Lets go what was collected in this turn of the event loop. */
  flush(): void {
    if (!this.corked) return;
    this.corked = false;
    this.stream.uncork();
  }

  /** Holds writes until the end of the turn of the event loop; false when nothing can be sent. */
  private makeReady(): boolean {
    if (this.socket.readyState !== this.socket.OPEN) return false;
    if (this.socket.bufferedAmount > this.maxBufferedBytes) {
      this.onOverflow();
      return false;
    }
    if (!this.corked) {
      this.corked = true;
      this.stream.cork();
      setImmediate(() => this.flush());
    }
    return true;
  }

  private sendInFragments(message: Buffer, onWritten: (() => void) | undefined): void {
    for (let start = 0; start < message.length; start += MAX_FRAME_BYTES) {
      const end = start + MAX_FRAME_BYTES;
      const fin = end >= message.length;
      this.socket.send(message.subarray(start, end), { binary: false, fin }, fin ? onWritten : undefined);
    }
  }

  private readonly onWritten = (): void => {
    if (this.waiting !== null && !this.isBehind) this.release();
  };

  private release(): void {
    this.waiting?.resolve(undefined);
    this.waiting = null;
  }
}
