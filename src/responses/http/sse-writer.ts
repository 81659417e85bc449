import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { setImmediate as nextLoopTurn } from 'node:timers/promises';

import type { FastifyReply } from 'fastify';

import type { Clock, Timer } from '../../time/index.js';
import { COMMENT, type StreamForm } from './sse-encoder.js';

/** Collected characters that are written at once. */
const EARLY_FLUSH_CHARACTERS = 64 * 1024;

/**
 * Writes frames to one client; frames of one tick leave in one write. While the client does not read, `write` returns a
 * promise, and the model is paused.
 */
export class SseWriter {
  private pending = '';
  private scheduled = false;
  private drained: PromiseWithResolvers<void> | null = null;
  private readonly silence: Timer;
  private readonly body: ChunkedBody;

  private constructor(
    private readonly response: ServerResponse,
    /** Sent on a silent stream. */
    private readonly keepalive: string,
    clock: Clock,
    keepaliveMs: number,
  ) {
    this.silence = clock.schedule(keepaliveMs, () => this.keepAlive());
    this.body = new ChunkedBody(response, () => this.resume());
    response.once('close', () => this.abandon());
    if (response.destroyed) this.abandon();
  }

  /** Takes over the response from Fastify; its head, with the headers of the reply, is sent with the first frames. */
  static open(reply: FastifyReply, { keepalive }: StreamForm, clock: Clock, keepaliveMs: number): SseWriter {
    reply.hijack();
    reply.raw.writeHead(200, {
      ...(reply.getHeaders() as OutgoingHttpHeaders),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    });
    return new SseWriter(reply.raw, keepalive, clock, keepaliveMs);
  }

  /**
   * Writes complete frames. Returns a promise when the caller must wait; does nothing when the client has disconnected.
   */
  write(frames: string): Promise<void> | undefined {
    if (this.isGone()) return undefined;
    this.pending += frames;
    if (this.pending.length > EARLY_FLUSH_CHARACTERS) {
      this.flush();
      return this.drained?.promise ?? nextLoopTurn();
    }
    if (!this.scheduled) {
      this.scheduled = true;
      // On the next tick, after pending callbacks: setImmediate would be later.
      process.nextTick(this.flushCollected);
    }
    return this.drained?.promise;
  }

  /** Sends the head without waiting for the first frames, which may take long. */
  sendHead(): void {
    if (!this.isGone()) this.response.flushHeaders();
  }

  /** Writes a comment, unless something waits to be written. Returns whether the stream goes on. */
  probe(): boolean {
    if (this.isGone()) return false;
    // Keepalives stay due: they tell the client that the model is at work.
    if (this.drained === null && this.pending === '') this.body.write(COMMENT);
    return true;
  }

  /** Sends pending frames and ends the stream. */
  end(frames: string): void {
    const rest = this.pending + frames;
    this.pending = '';
    if (!this.isGone()) this.response.end(rest, encodingOf(rest));
  }

  /** Sends pending frames. The connection is closed elsewhere. */
  leave(): void {
    this.flush();
    this.silence.cancel();
  }

  private readonly flushCollected = (): void => {
    this.scheduled = false;
    this.flush();
  };

  private flush(): void {
    if (this.pending === '' || this.isGone()) return;
    const chunk = this.pending;
    this.pending = '';
    this.silence.refresh();
    if (!this.body.write(chunk)) this.drained ??= Promise.withResolvers();
  }

  private keepAlive(): void {
    // No keepalive while the client is not reading.
    if (this.drained === null) this.pending += this.keepalive;
    this.flush();
    this.silence.refresh();
  }

  private resume(): void {
    this.drained?.resolve();
    this.drained = null;
  }

  private abandon(): void {
    this.silence.cancel();
    this.pending = '';
    this.resume();
  }

  private isGone(): boolean {
    return this.response.destroyed || this.response.writableEnded;
  }
}

/**
 * Writes a body of unknown length. Node makes four writes of each chunk and joins them again: once only chunks are left
 * to write, they are framed here (RFC 9112 section 7.1) in one write each, at half the cost.
 */
class ChunkedBody {
  private hasBegun = false;

  /** `onDrain` is called when the client has caught up. */
  constructor(
    private readonly response: ServerResponse,
    private readonly onDrain: () => void,
  ) {
    response.on('drain', onDrain);
  }

  /** Writes a non-empty text. False when the client is behind: wait for `onDrain`. */
  write(text: string): boolean {
    const { response, hasBegun } = this;
    const { socket, chunkedEncoding } = response;
    this.hasBegun = true;
    // The first chunk carries the head. Without a socket the response is queued behind others of a pipelining client;
    // HTTP/1.0 has no chunks.
    if (!hasBegun || !chunkedEncoding || !(socket instanceof Socket)) return response.write(text, encodingOf(text));
    const bytes = Buffer.byteLength(text);
    const isTaken = socket.write(`${bytes.toString(16)}\r\n${text}\r\n`, encodingOf(text, bytes));
    if (!isTaken) socket.once('drain', this.onDrain);
    return isTaken;
  }
}

/** ASCII is the same in both. As Latin-1 it is copied to the socket, and takes a third of the memory until then. */
function encodingOf(text: string, bytes = Buffer.byteLength(text)): 'latin1' | 'utf8' {
  return bytes === text.length ? 'latin1' : 'utf8';
}
