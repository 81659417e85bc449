import {
  type ApiError,
  estimateBytes,
  type ResponseObject,
  type ResponseWithText,
  withOutputText,
} from '../../protocol/index.js';
import type { AskedTurn, Door, Transport, TurnRecord } from '../../responses/index.js';

/** Requests that a journal keeps, and about how many bytes of them and of their answers. */
const MOST_ENTRIES = 1000;
const MOST_BYTES = 16 * 1024 * 1024;

/** About how many bytes the journals of a process keep. */
const MOST_BYTES_OF_ALL = 64 * 1024 * 1024;

/** Why a request has no response. */
export interface JournalError {
  /** HTTP status; of a socket that of its error event. */
  readonly status: number;
  readonly code: string | null;
  readonly message: string;
}

/** The body of a create request. */
export type JournalBody = Readonly<Record<string, unknown>>;

/** A create request, and what it was answered. */
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
    readonly door: Door,
    readonly transport: Transport,
    /** The body as the client sent it, or a `response.create` without its envelope; of other doors what they have made of the body. */
    readonly request: JournalBody,
    /** The body as a client of another door sent it. */
    readonly original: JournalBody | null,
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
    const door = this.door === 'responses' ? '' : `${this.door} `;
    return `${this.number}. ${door}${this.transport} ${String(this.model)} ${show(this.input)} → ${this.status} ${this.answer}`;
  }

  private get answer(): string {
    if (this.error !== null) return `${this.error.status} ${this.error.code ?? ''}: ${this.error.message}`;
    if (this.response === null) return '';
    const { output_text: text, error, output } = this.response;
    if (error !== null) return `${error.code}: ${error.message}`;
    const refusals = output
      .flatMap(({ content }) =>
        Array.isArray(content) ? (content as readonly Readonly<Record<string, unknown>>[]) : [],
      )
      .flatMap(({ type, refusal }) => (type === 'refusal' ? [`refusal ${show(refusal)}`] : []));
    const calls = output
      .filter(({ type }) => type.endsWith('_call'))
      .map(({ type, name }) => (typeof name === 'string' ? name : type));
    return [...(text === '' ? [] : [show(text)]), ...refusals, ...calls].join(', ');
  }
}

function toBody(value: unknown): JournalBody {
  return typeof value === 'object' && value !== null ? (value as JournalBody) : {};
}

/** Characters of a value in a line. */
const LONGEST_SHOWN = 200;

function show(value: unknown): string {
  const text = value === undefined ? 'no input' : JSON.stringify(value);
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}…`;
}

/** An entry with about how many bytes it holds. */
interface Kept {
  readonly entry: JournalEntry;
  readonly journal: Journal;
  bytes: number;
}

/** What the journals of all spaces keep together. Beyond `mostBytes` the oldest entries go, whosever they are. */
export class JournalBudget {
  private readonly kept = new Set<Kept>();
  private bytes = 0;

  constructor(private readonly mostBytes = MOST_BYTES_OF_ALL) {}

  /** Counts bytes that an entry has got; the entry that came last is the newest, and stays. */
  add(kept: Kept, bytes: number): void {
    this.kept.add(kept);
    this.bytes += bytes;
    for (const oldest of this.kept) {
      if (this.bytes <= this.mostBytes || this.kept.size === 1) return;
      oldest.journal.forget(oldest);
    }
  }

  remove(kept: Kept): void {
    if (this.kept.delete(kept)) this.bytes -= kept.bytes;
  }
}

/** The latest requests of a space, oldest first. */
export class Journal {
  /** By their entries, oldest first. */
  private kept = new Map<JournalEntry, Kept>();
  private bytes = 0;
  private count = 0;

  /** `budget` is shared with the journals of other spaces. */
  constructor(private readonly budget: JournalBudget) {}

  get entries(): readonly JournalEntry[] {
    return [...this.kept.keys()];
  }

  /** Adds a request that came at a time, milliseconds since the epoch. */
  open({ door, transport, request, original }: AskedTurn, now: number): JournalEntry {
    const at = new Date(now).toISOString();
    const sent = original === undefined ? null : toBody(original);
    const entry = new JournalEntry(++this.count, at, door, transport, toBody(request), sent);
    this.kept.set(entry, { entry, journal: this, bytes: 0 });
    this.weigh(entry, request);
    if (original !== undefined && original !== request) this.weigh(entry, original);
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
    for (const kept of this.kept.values()) this.forget(kept);
    this.count = 0;
  }

  /** Forgets an entry. */
  forget(kept: Kept): void {
    if (!this.kept.delete(kept.entry)) return;
    this.bytes -= kept.bytes;
    this.budget.remove(kept);
  }

  /** Forgets the oldest entries while there are too many; the latest always stays. */
  private weigh(entry: JournalEntry, value: unknown): void {
    const weighed = this.kept.get(entry);
    // The entry was forgotten while its turn ran.
    if (weighed === undefined) return;
    const bytes = estimateBytes(value);
    weighed.bytes += bytes;
    this.bytes += bytes;
    this.budget.add(weighed, bytes);
    for (const oldest of this.kept.values()) {
      if (this.kept.size === 1 || (this.kept.size <= MOST_ENTRIES && this.bytes <= MOST_BYTES)) break;
      this.forget(oldest);
    }
  }
}
