import type { Caller } from '../../src/access/index.js';
import type { CreateResponseRequest, Item, ResponseObject, StreamEvent } from '../../src/protocol/index.js';
import type { AssemblerNote } from '../../src/responses/assembler/state.js';
import { foldEvents } from '../../src/responses/assembler/fold-events.js';
import { ResponseAssembler } from '../../src/responses/assembler/response-assembler.js';
import { ResponsesService } from '../../src/responses/index.js';
import { ActiveTurn, type BackgroundRun } from '../../src/responses/turn/active-turn.js';
import type { AdmittedTurn } from '../../src/responses/turn/admit.js';
import type { EventSink } from '../../src/responses/turn/event-sink.js';
import { Passes } from '../../src/responses/turn/passes.js';
import { TurnResolver } from '../../src/responses/turn/resolve.js';
import { SequentialIdGenerator } from '../../src/testing/index.js';
import type { Service } from './service.js';

/** An event or a note of a log. */
export type LogEntry = StreamEvent | AssemblerNote;

/** Keeps what is written. */
export class LogSink implements EventSink {
  readonly entries: LogEntry[] = [];

  write(events: readonly StreamEvent[]): undefined {
    this.entries.push(...events);
  }

  note(notes: readonly AssemblerNote[]): void {
    this.entries.push(...notes);
  }
}

/**
 * The log of a background response up to some place, from which attempts to run it go on. Each attempt belongs to a
 * process of its own that knows nothing but this log.
 */
export class BackgroundLog {
  private constructor(
    private readonly service: Service,
    private readonly turn: AdmittedTurn,
    readonly entries: readonly LogEntry[],
  ) {}

  /** The log of a response that is queued. */
  static queue(service: Service, request: Partial<CreateResponseRequest> = {}): BackgroundLog {
    const caller = { tenant: 'acme', requestId: 'req_1' } as Caller;
    const { settings, ...rest } = service.app
      .get(ResponsesService)
      .admit({ model: 'm', input: 'x', ...request }, caller);
    const turn = { ...rest, settings: { ...settings, background: true } };
    const { responseId: id, createdAt, requestedTier } = turn;
    const identity = { id, createdAt, requestedTier, settings: turn.settings, ids: new SequentialIdGenerator() };
    const assembler = new ResponseAssembler({ ...identity, writing: 'events and notes', maxOutputCharacters: 1 });
    assembler.queue();
    return new BackgroundLog(service, turn, assembler.takeEvents());
  }

  /** The log after an attempt that runs to the end of the response. */
  async run(sink = new LogSink()): Promise<BackgroundLog> {
    const run = { state: foldEvents(this) } as BackgroundRun;
    const turn = new ActiveTurn(this.turn, {}, run);
    const resolved = await this.service.app.get(TurnResolver).resolve(new ActiveTurn(this.turn));
    const { assembler, delivery, outcome } = await this.service.app.get(Passes).run(turn, resolved, sink);
    assembler.terminate(assembler.conclude(outcome, 2));
    await delivery.deliver();
    turn.finish();
    const written = sink.entries.toSorted((one, other) => placeOf(one) - placeOf(other));
    return new BackgroundLog(this.service, this.turn, [...this.entries, ...written]);
  }

  /** The first so many entries: the process died after them. */
  cut(length: number): BackgroundLog {
    return new BackgroundLog(this.service, this.turn, this.entries.slice(0, length));
  }

  /** The entries up to the first one of a type (or another one, counted from 1), which is the last. */
  upTo(type: string, which = 1): BackgroundLog {
    const places = [...this.entries.keys()].filter((place) => this.entries[place]?.type === type);
    const place = places[which - 1];
    if (place === undefined) throw new Error(`the log has no ${which}. ${type}`);
    return this.cut(place + 1);
  }

  get events(): readonly StreamEvent[] {
    return this.entries.filter((entry) => 'sequenceNumber' in entry);
  }

  get notes(): readonly AssemblerNote[] {
    return this.entries.filter((entry) => 'before' in entry);
  }

  /** The events as clients get them. */
  get wire(): readonly Readonly<Record<string, unknown>>[] {
    return this.events.map(({ json }) => JSON.parse(`${json}}`) as Readonly<Record<string, unknown>>);
  }

  /** The final Response. Throws an Error before the end. */
  get response(): ResponseObject {
    const response = this.events.at(-1)?.response;
    if (response == null) throw new Error('the response has not ended');
    return response;
  }

  /** The texts and payloads of the output. */
  get texts(): readonly string[] {
    return this.response.output.map(textOf);
  }
}

function textOf({ type, content, arguments: json, input }: Item): string {
  if (type !== 'message') return (json ?? input ?? type) as string;
  return (content as readonly { readonly text?: string; readonly refusal?: string }[])
    .map(({ text, refusal }) => text ?? refusal)
    .join('');
}

/** A note comes right before the event with its number. */
function placeOf(entry: LogEntry): number {
  return 'before' in entry ? entry.before - 0.5 : entry.sequenceNumber;
}
