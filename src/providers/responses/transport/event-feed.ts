import { beginsJson, EventStreamReader, TextCollector } from '../../upstream-http/index.js';
import { broken } from './broken.js';
import type { AnswerTaker } from './exchange.js';
import { toEvent } from './whole-answer.js';

/** Bytes of a whole answer. */
const LONGEST_DOCUMENT = 64 * 1024 * 1024;

/**
 * Hands the events of an event stream to a taker, piece by piece, with one flush for each piece. A body that is a JSON document, from a
 * server that does not stream, is one event at its end.
 */
export class EventFeed {
  private readonly events = new EventStreamReader(({ data }) => this.take(data));
  private readonly document = new TextCollector(LONGEST_DOCUMENT);
  private isDocument: boolean | undefined;
  private isTerminal = false;
  private hasTaken = false;

  constructor(private readonly taker: AnswerTaker) {}

  /** Whether the taker has said that the answer is over. */
  get isOver(): boolean {
    return this.isTerminal;
  }

  /**
   * Reads a piece. Returns whether it ended an event with data, or is of a document; only then does `flush` have something to do. Throws
   * UpstreamError for a document that is too long.
   */
  read(piece: Uint8Array): boolean {
    this.isDocument ??= beginsJson(piece);
    if (this.isDocument === true) return this.collect(piece);
    this.hasTaken = false;
    this.events.read(piece);
    return this.hasTaken;
  }

  /** Reads the last event, even without the blank line after it. Returns the same as `read`. */
  end(): boolean {
    this.hasTaken = false;
    if (this.isDocument === true) {
      const event = toEvent(this.document.text);
      if (event !== null) this.take(JSON.stringify(event));
    } else {
      this.events.end();
    }
    return this.hasTaken;
  }

  private collect(piece: Uint8Array): boolean {
    this.document.add(piece);
    if (this.document.isFull) throw broken(`the answer has more than ${LONGEST_DOCUMENT} bytes`);
    return true;
  }

  private take(data: string): void {
    if (data === '' || this.isTerminal) return;
    this.hasTaken = true;
    this.isTerminal = this.taker.take(data);
  }
}
