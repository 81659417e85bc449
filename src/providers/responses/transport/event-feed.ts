import { isObject, parseJson } from '../../../validation/index.js';
import { IS_PAGE } from '../../upstream-http/body-form.js';
import { BodyReader, LONGEST_DOCUMENT } from '../../upstream-http/body-reader.js';
import { notUnderstood } from '../upstream-error.js';
import { broken } from './broken.js';
import type { AnswerTaker } from './exchange.js';

/** The statuses of a Response that has ended. */
const ENDS: ReadonlySet<unknown> = new Set(['completed', 'incomplete', 'failed']);

/**
 * Hands the events of an event stream to a taker, piece by piece, with one flush for each piece. A body that is a JSON document, from a
 * server that does not stream, is one event at its end.
 */
export class EventFeed {
  private readonly body = new BodyReader(({ data }) => this.take(data));
  private isTerminal = false;
  private hasTaken = false;

  constructor(private readonly taker: AnswerTaker) {}

  /** Whether the taker has said that the answer is over. */
  get isOver(): boolean {
    return this.isTerminal;
  }

  /**
   * Reads a piece. Returns whether it ended an event with data, or is of a document; only then does `flush` have something to do. Throws
   * UpstreamError for a document that is too long, and for a web page.
   */
  read(piece: Uint8Array): boolean {
    const { body } = this;
    this.hasTaken = false;
    body.read(piece);
    if (body.form === 'page') throw notUnderstood('a web page', IS_PAGE);
    if (body.isFull) throw broken(`the answer has more than ${LONGEST_DOCUMENT} bytes`);
    return body.form === 'document' || this.hasTaken;
  }

  /** Reads the last event, even without the blank line after it. Returns the same as `read`. */
  end(): boolean {
    const { body } = this;
    this.hasTaken = false;
    body.end();
    if (body.form === 'document') {
      const event = toEvent(body.document);
      this.take(event === null ? body.document : JSON.stringify(event));
    }
    return this.hasTaken;
  }

  private take(data: string): void {
    if (data === '' || this.isTerminal) return;
    this.hasTaken = true;
    this.isTerminal = this.taker.take(data);
  }
}

/**
 * The event that says the same as a JSON document which a server sent in place of a stream: a Response that has ended, an error, or an
 * event. Null for any other document.
 */
function toEvent(document: string): object | null {
  const body = parseJson(document);
  if (!isObject(body)) return null;
  if (typeof body.type === 'string') return body;
  const { status, error, output } = body;
  if (ENDS.has(status)) return { type: `response.${String(status)}`, response: body };
  if (error !== undefined && error !== null) return { type: 'response.failed', response: body };
  return status === undefined && Array.isArray(output) ? { type: 'response.completed', response: body } : null;
}
