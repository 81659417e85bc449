import type { ApiError, ResponseObject, ResponseWithText } from '../../protocol/index.js';
import { estimateBytes, withOutputText } from '../../protocol/index.js';
import type { AskedTurn, Transport, TurnRecord } from '../../responses/index.js';

/** Requests that a journal keeps, and about how many bytes of them and of their answers. */
const MOST_ENTRIES = 1000;
const MOST_BYTES = 16 * 1024 * 1024;

/** Why a request has no response. */
export interface JournalError {
  /** HTTP status; of a socket that of its error event. */
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
}

/** A create request as the client sent it, and what it was answered. */
export class JournalEntry {
  /** `running` until its answer is complete; `refused` without a response. */
  status: 'running' | TurnRecord['status'] = 'running';
  /** The response as it ended; null before, after a refusal, and for a client that has left. */
  response: ResponseWithText | null = null;
  /** The refusal. */
  error: JournalError | null = null;

  constructor(
    /** From 1, in its space. */
    readonly number: number,
    /** When it came, ISO 8601. */
    readonly at: string,
    readonly transport: Transport,
    /** The body, or a `response.create` without its envelope. */
    readonly request: Readonly<Record<string, unknown>>,
  ) {}

  get model(): unknown {
    return this.request['model'];
  }

  /** A text or items, as they were sent. */
  get input(): unknown {
    return this.request['input'];
  }

  /** One line: the request and its answer, for a person who looks for what went wrong. */
  toString(): string {
    return `${this.number}. ${this.transport} ${String(this.model)} ${show(this.input)} → ${this.status} ${this.answer}`;
  }

  private get answer(): string {
    if (this.error !== null) return `${this.error.status} ${this.error.code ?? ''}: ${this.error.message}`;
    if (this.response === null) return '';
    const { output_text: text, error, output } = this.response;
    if (error !== null) return `${error.code}: ${error.message}`;
    const calls = output
      .filter(({ type }) => type.endsWith('_call'))
      .map(({ type, name }) => (typeof name === 'string' ? name : type));
    return [...(text === '' ? [] : [show(text)]), ...calls].join(', ');
  }
}

/** Characters of a value in a line. */
const LONGEST_SHOWN = 200;

function show(value: unknown): string {
  const text = value === undefined ? 'no input' : JSON.stringify(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}

/** The latest requests of a space, oldest first. */
export class Journal {
  private kept: { readonly entry: JournalEntry; bytes: number }[] = [];
  private bytes = 0;
  private count = 0;

  get entries(): readonly JournalEntry[] {
    return this.kept.map(({ entry }) => entry);
  }

  /** Adds a request that came at a time, milliseconds since the epoch. */
  open({ request, transport }: AskedTurn, now: number): JournalEntry {
    const body = typeof request === 'object' && request !== null ? (request as JournalEntry['request']) : {};
    const entry = new JournalEntry(++this.count, new Date(now).toISOString(), transport, body);
    this.kept.push({ entry, bytes: 0 });
    this.weigh(entry, request);
    return entry;
  }

  /** Writes down an error that answers a request. */
  refuse(entry: JournalEntry, { status, code, message }: ApiError): void {
    entry.status = 'refused';
    entry.error = { status, code, message };
  }

  /** Writes down how a turn has ended. */
  close(entry: JournalEntry, status: TurnRecord['status'], response: ResponseObject | null): void {
    entry.status = status;
    if (response === null) return;
    entry.response = withOutputText(response);
    this.weigh(entry, response.output);
  }

  /** Forgets all requests; the next one has the number 1. */
  clear(): void {
    this.kept = [];
    this.bytes = 0;
    this.count = 0;
  }

  /** Forgets the oldest entries while there are too many; the latest always stays. */
  private weigh(entry: JournalEntry, value: unknown): void {
    const place = this.kept.find((kept) => kept.entry === entry);
    // It was forgotten while it ran.
    if (place === undefined) return;
    const bytes = estimateBytes(value);
    place.bytes += bytes;
    this.bytes += bytes;
    while (this.kept.length > 1 && (this.kept.length > MOST_ENTRIES || this.bytes > MOST_BYTES)) {
      this.bytes -= this.kept.shift()?.bytes ?? 0;
    }
  }
}
