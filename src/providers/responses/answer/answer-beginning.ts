import { RATE_LIMITS_EVENT } from '../../../protocol/index.js';
import type { ModelEvent } from '../../model-event.js';
import type { ModelSink } from '../../model-sink.js';
import type { Exchange } from '../transport/exchange.js';
import type { EventReader } from './event-reader.js';

/** The events of an answer up to its first output. Its head, headers and limits for the client, does not wait for that. */
export class AnswerBeginning {
  private readonly head: ModelEvent[];
  private readonly others: ModelEvent[] = [];
  private isWhole: boolean;

  /** `first` is what the headers of the answer say; over SSE that is all of its head, on a socket events follow. */
  constructor(
    private readonly sink: ModelSink,
    first: ModelEvent,
    transport: Exchange['transport'],
  ) {
    this.head = isOfHead(first) ? [first] : [];
    this.isWhole = transport === 'sse';
    this.tell();
  }

  /** Adds what was read. The head ends where the response begins. */
  add(events: readonly ModelEvent[], { responseId, hasOutput }: EventReader): void {
    const known = { length: this.head.length, isWhole: this.isWhole };
    for (const event of events) (isOfHead(event) ? this.head : this.others).push(event);
    this.isWhole ||= responseId !== null || hasOutput;
    if (this.head.length > known.length || this.isWhole !== known.isWhole) this.tell();
  }

  /** What is written with the first output. */
  get events(): readonly ModelEvent[] {
    return this.sink.head === undefined ? [...this.head, ...this.others] : this.others;
  }

  private tell(): void {
    this.sink.head?.([...this.head], this.isWhole);
  }
}

function isOfHead(event: ModelEvent): boolean {
  if (event.type === 'event') return event.event.type === RATE_LIMITS_EVENT;
  return event.type === 'metadata' && Object.keys(event.headers ?? {}).length > 0;
}
