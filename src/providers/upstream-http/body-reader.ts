import { isObject, parseJson } from '../../validation/index.js';
import { type BodyForm, formOf, withoutBlanks } from './body-form.js';
import { EventStreamReader, LONGEST_EVENT, type StreamedEvent, withoutField } from './event-stream.js';
import { TextCollector } from './read-text.js';

/** Bytes of a JSON document. */
export const LONGEST_DOCUMENT = 64 * 1024 * 1024;

const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const LINE_END = /\r\n?|\n/;

/**
 * Reads the body of an answer piece by piece, whatever its `content-type` says. The events of a stream are passed on as they come, and so
 * are JSON objects that stand in a line each, as events without a name. A JSON document is collected.
 */
export class BodyReader {
  private current: BodyForm | undefined;
  private readonly events: EventStreamReader;
  private collected = new TextCollector(LONGEST_DOCUMENT);
  /** Handles characters that span two pieces of lines. */
  private readonly decoder = new TextDecoder();
  /** The line so far. */
  private line = '';
  /** Whether the first line of a document has ended. */
  private hasLineEnd = false;
  /** Whether a second line of it has begun, so that it is known whether each line is an object. */
  private hasSecondLine = false;

  /** `onEvent` may throw. */
  constructor(private readonly onEvent: (event: StreamedEvent) => void) {
    this.events = new EventStreamReader(onEvent);
  }

  /** What the body is; undefined as long as nothing but whitespace has come. */
  get form(): BodyForm | undefined {
    return this.current;
  }

  /** The text of a document so far. */
  get document(): string {
    return this.collected.text;
  }

  /** Whether a document has more than LONGEST_DOCUMENT bytes. */
  get isFull(): boolean {
    return this.collected.isFull;
  }

  /** Throws if an event exceeds its limit, and what `onEvent` throws. Nothing is read of a page. */
  read(piece: Uint8Array): void {
    const { current } = this;
    if (current === 'events') this.events.read(piece);
    else if (current === 'lines') this.readLines(this.decoder.decode(piece, { stream: true }));
    else if (current === 'document') this.collect(piece);
    else if (current === undefined) this.begin(piece);
  }

  /** Reads the last event, even without the line end behind it. Throws as `read`. */
  end(): void {
    if (this.current === 'lines') this.readLines(`${this.decoder.decode()}\n`);
    else if (this.current !== 'document') this.events.end();
  }

  /** Leading whitespace is ignored in all forms. */
  private begin(piece: Uint8Array): void {
    this.current = formOf(piece);
    if (this.current !== undefined) this.read(withoutBlanks(piece));
  }

  private collect(piece: Uint8Array): void {
    this.collected.add(piece);
    if (this.hasSecondLine || !this.beginsLine(piece)) return;
    this.hasSecondLine = true;
    const [first = ''] = this.collected.text.split(LINE_END, 1);
    if (!isObject(parseJson(first))) return;
    this.current = 'lines';
    const { bytes } = this.collected;
    this.collected = new TextCollector(LONGEST_DOCUMENT);
    this.readLines(this.decoder.decode(bytes, { stream: true }));
  }

  /** Whether the second line of a document begins in a piece. */
  private beginsLine(piece: Uint8Array): boolean {
    if (this.hasLineEnd) return formOf(piece) !== undefined;
    const ends = [piece.indexOf(LINE_FEED), piece.indexOf(CARRIAGE_RETURN)].filter((end) => end !== -1);
    this.hasLineEnd = ends.length > 0;
    return this.hasLineEnd && formOf(piece.subarray(Math.min(...ends))) !== undefined;
  }

  private readLines(text: string): void {
    this.line += text;
    if (this.line.length > LONGEST_EVENT) throw new Error(`a line has more than ${LONGEST_EVENT} characters`);
    if (!LINE_END.test(text)) return;
    const lines = this.line.split(LINE_END);
    this.line = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') this.onEvent({ data: withoutField(line) });
  }
}
