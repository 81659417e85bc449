import type { Duplex } from 'node:stream';

import type { BodyBudget, BodyShare } from '../../http/bodies/index.js';
import type { ClientSocket } from '../../connections/index.js';
import type { ApiError } from '../../protocol/index.js';

/**
 * The part of a socket that gathers a message: `ws` does not show it. Its version is fixed in package.json, and
 * test/robustness/unfinished-messages.spec.ts fails when these members change.
 */
interface Receiver {
  /** Bytes of the frame that has not arrived completely. */
  _bufferedBytes: number;
  _buffers: Buffer[];
  /** Bytes of the complete frames of an unfinished message, unpacked. */
  _messageLength: number;
  _fragments: Buffer[];
  /** Called after each frame of a message. */
  dataMessage(done: unknown): void;
}

/**
 * Counts what a client sends, until it was read: the unfinished message in `ws`, and messages that wait to be read. Beyond
 * the budget of all bodies, the largest unfinished one is discarded and `end` called, which has to end the connection:
 * the rest of its stream is not read.
 */
export class IncomingMessages {
  private readonly receiver: Receiver;
  /** The unfinished message. */
  private readonly arriving: BodyShare;
  /** The complete ones that wait. */
  private readonly waiting: BodyShare;
  private waitingBytes = 0;
  /** Nothing arrives any more: the connection is closed, or its message was refused. */
  private isOver = false;

  constructor(
    private readonly socket: ClientSocket,
    private readonly stream: Duplex,
    budget: BodyBudget,
    private readonly end: (error: ApiError) => void,
  ) {
    this.receiver = (socket as unknown as { readonly _receiver: Receiver })._receiver;
    this.arriving = budget.open((error) => this.refuse(error));
    this.waiting = budget.openComplete();
    const { receiver } = this;
    const dataMessage = receiver.dataMessage.bind(receiver);
    // An unpacked frame comes later than its bytes.
    const readMessage: Receiver['dataMessage'] = (done) => {
      dataMessage(done);
      this.update();
    };
    receiver.dataMessage = readMessage;
    // After the listener of `ws`, which comes first.
    stream.on('data', this.update);
    socket.on('close', () => {
      this.isOver = true;
      this.arriving.release();
    });
  }

  /** Holds a complete message while it is read, during which the client has to wait. Returns the function that ends this. */
  hold(bytes: number): () => void {
    this.waitingBytes += bytes;
    this.waiting.hold(this.waitingBytes);
    this.socket.pause();
    return () => {
      this.waitingBytes -= bytes;
      this.waiting.hold(this.waitingBytes);
      if (this.waitingBytes === 0) this.socket.resume();
    };
  }

  private readonly update = (): void => {
    if (!this.isOver) this.arriving.hold(this.receiver._bufferedBytes + this.receiver._messageLength);
  };

  /** The rest of the message is discarded, so that the client reads why. */
  private refuse(error: ApiError): void {
    this.isOver = true;
    this.stream.removeAllListeners('data');
    this.stream.resume();
    this.receiver._buffers = [];
    this.receiver._bufferedBytes = 0;
    this.receiver._fragments = [];
    this.receiver._messageLength = 0;
    this.end(error);
  }
}
