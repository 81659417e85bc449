import type { ForeignItem } from '../../../protocol/index.js';
import type { Finish, ForeignEvent, ModelEvent } from '../../model-event.js';
import type { FailureContext } from '../errors/index.js';
import type { Profile } from '../profile.js';
import type { Statistics } from '../statistics.js';
import type { UpstreamError } from '../upstream-error.js';
import { isForeignItem } from './foreign-items.js';
import type { UpstreamItem } from './upstream-item.js';
import { UpstreamItems } from './upstream-items.js';

/** How an answer is read. */
export interface AnswerOptions {
  readonly profile: Profile;
  readonly transport: 'sse' | 'websocket';
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Reads an event of a type into an answer. */
export type Handler = (answer: Answer, event: ForeignEvent) => void;

/** Characters of an upstream id. It is stored with each response, so longer ids are ignored. */
const LONGEST_ID = 256;

/** Events before the first output. An answer that has more of them has begun, so that they need not be kept. */
const MOST_BEFORE_OUTPUT = 256;

const NONE: readonly ModelEvent[] = [];

/** What was read of an answer so far: the ModelEvents that wait to be taken, and the state that handlers read and change. */
export class Answer {
  readonly items = new UpstreamItems();
  hasOutput = false;
  isFinished = false;
  /** Whether later events belong to no one. */
  isOver = false;
  failure: UpstreamError | null = null;
  responseId: string | null = null;
  turnState: string | null = null;
  private events: ModelEvent[] = [];

  constructor(
    readonly options: AnswerOptions,
    private readonly statistics: Statistics,
  ) {}

  /** Adds an event of the output. */
  write(event: ModelEvent): void {
    this.hasOutput = true;
    this.events.push(event);
  }

  /** Adds an event beside the output: as long as there is no other, the request can still be repeated. */
  note(event: ModelEvent): void {
    this.events.push(event);
    if (this.events.length > MOST_BEFORE_OUTPUT) this.hasOutput = true;
  }

  /** The events since the last call. */
  take(): readonly ModelEvent[] {
    const { events } = this;
    if (events.length === 0) return NONE;
    this.events = [];
    return events;
  }

  /** Counts an event that contradicts the others, or that no client could place. */
  drop(): void {
    this.statistics.count('events_unplaced');
  }

  /** Counts an event of a type that is not known. */
  countUnknown(): void {
    this.statistics.count('events_unknown');
  }

  /** Opens an item; null if it cannot be one of this answer. */
  open(index: unknown, item: ForeignItem): UpstreamItem | null {
    const opened = isForeignItem(item) ? this.items.add(index, item) : null;
    if (opened !== null) this.write({ type: 'item.open', key: opened.key, item });
    return opened;
  }

  /** Closes an open item with its final form; drops a form that does not fit. */
  close(open: UpstreamItem | null, item: ForeignItem): void {
    if (open?.isOpen !== true || !open.fits(item)) {
      this.drop();
      return;
    }
    open.isOpen = false;
    open.final = item;
    this.write({ type: 'item.close', key: open.key, item });
  }

  /** Notes the upstream's id of the response, by which later requests refer to it. */
  nameResponse(id: string): void {
    if (id === this.responseId) return;
    this.responseId = id;
    if (id !== '' && id.length <= LONGEST_ID) this.note({ type: 'metadata', upstreamId: id });
  }

  /** Ends the answer. A failure before it did not matter. */
  finish(finish: Finish): void {
    this.write({ type: 'finish', ...finish });
    this.failure = null;
    this.isFinished = true;
    this.isOver = true;
  }

  /** Notes a failure. Over SSE it is reported when the stream ends, on a socket at once (upstreams §3.3, §4.3). */
  fail(error: UpstreamError): void {
    this.failure = error;
    this.isOver = this.options.transport === 'websocket';
  }

  get failureContext(): FailureContext {
    return { profile: this.options.profile, now: this.options.now() };
  }
}
