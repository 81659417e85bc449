import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';

import { createParser, type EventSourceMessage, type EventSourceParser } from 'eventsource-parser';
import type { Dispatcher } from 'undici';

import { JoinedPieces } from '../../http/outbound/index.js';
import { type AnswerHead, readHead } from './answer-head.js';
import { LONGEST_STREAM, LongestEvent, unpack } from './bounded-fetch.js';
import { tooLarge } from './failures.js';

/** Receives an answer. `onEnd` or `onFailure` comes last, unless the answer is left. */
export interface AnswerListener {
  onEvent(event: EventSourceMessage): void;
  /** How long the server wants a client to wait before it asks for the rest of a stream, ms. */
  onRetry(delayMs: number): void;
  /** `text`: what the answer was as a whole; null for a stream of events. */
  onEnd(head: AnswerHead, text: string | null): void;
  /** There is no answer, or it has broken off: McpFailure for one that cannot be read, and otherwise the error of the connection. */
  onFailure(answer: HttpAnswer, error: unknown): void;
}

/**
 * The answer to one request: undici's handler of it. It has no stream in between, unless it is compressed, and at most `mostBytes`: an event
 * stream in each of its events, and LONGEST_STREAM times as much as a whole; others as a whole.
 */
export class HttpAnswer implements Dispatcher.DispatchHandler {
  private head = NO_HEAD;
  private controller: Dispatcher.DispatchController | null = null;
  private isOver = false;
  private readonly joined = new JoinedPieces();
  private events: EventStream | null = null;
  private packed: Readable | null = null;

  constructor(
    private readonly mostBytes: number,
    private readonly listener: AnswerListener,
  ) {}

  /** Whether it is a stream of events. */
  get isEvents(): boolean {
    return this.events !== null;
  }

  /** Leaves the answer: closes its connection, unless it has ended. */
  leave(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.packed?.destroy();
    this.controller?.abort(LEFT);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.controller = controller;
    if (this.isOver) controller.abort(LEFT);
  }

  onResponseStart(_controller: unknown, status: number, headers: IncomingHttpHeaders): void {
    // An interim response, such as 103.
    if (status < 200) return;
    this.head = readHead(status, headers);
    const { isEvents, codings } = this.head;
    if (isEvents) this.events = new EventStream(this.listener);
    if (codings.length > 0) this.unpack(codings);
  }

  onResponseData(controller: Dispatcher.DispatchController, piece: Buffer): void {
    if (this.packed === null) this.take(piece);
    else if (!this.packed.push(piece)) controller.pause();
  }

  onResponseEnd(): void {
    if (this.packed === null) this.end();
    else this.packed.push(null);
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.packed?.destroy();
    this.fail(error);
  }

  private unpack(codings: readonly string[]): void {
    this.packed = new Readable({ read: () => this.controller?.resume() });
    try {
      unpack(this.packed, codings)
        .on('data', (piece: Buffer) => this.take(piece))
        .once('end', () => this.end())
        .once('error', (error) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
  }

  private take(piece: Buffer): void {
    if (this.isOver) return;
    const { mostBytes, events } = this;
    const bytes = events === null ? this.joined.length + piece.byteLength : events.measure(piece);
    const total = events?.total ?? 0;
    if (bytes > mostBytes) this.fail(tooLarge(mostBytes));
    else if (total > mostBytes * LONGEST_STREAM) this.fail(tooLarge(mostBytes * LONGEST_STREAM));
    else if (events === null) this.joined.add(piece);
    else events.read(piece);
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.listener.onEnd(this.head, this.events === null ? TEXT.decode(this.joined.whole()) : null);
  }

  private fail(error: unknown): void {
    if (this.isOver) return;
    this.leave();
    this.listener.onFailure(this, error);
  }
}

/** The head of an answer that has not begun. */
const NO_HEAD = readHead(0, {});

/** Drops the byte order mark that some servers send before JSON. */
const TEXT = new TextDecoder();

/** Ends the connection of an answer. One for all: to make an error for each, with its stack, takes as long as to send a call. */
const LEFT = new Error('The answer was left.');

/** The events of an answer. */
class EventStream {
  // Handles characters that span two pieces.
  private readonly decoder = new TextDecoder();
  private readonly longest = new LongestEvent();
  private readonly parser: EventSourceParser;

  constructor(listener: AnswerListener) {
    this.parser = createParser({
      onEvent: (event) => listener.onEvent(event),
      onRetry: (delayMs) => listener.onRetry(delayMs),
    });
  }

  /** The bytes of the longest event so far. */
  measure(piece: Uint8Array): number {
    return this.longest.add(piece);
  }

  /** The bytes of all events so far. */
  get total(): number {
    return this.longest.total;
  }

  read(piece: Uint8Array): void {
    this.parser.feed(this.decoder.decode(piece, { stream: true }));
  }
}
