import {
  type IdGenerator,
  type Item,
  type ResponseObject,
  type StreamEvent,
  TERMINAL_EVENTS,
  type TerminalStatus,
  type TokenCounts,
} from '../../protocol/index.js';
import type { ModelEvent } from '../../providers/index.js';
import { CallItem, CUSTOM_TOOL_CALL, FUNCTION_CALL } from './call-item.js';
import { EventWriter } from './event-writer.js';
import { MessageItem } from './message-item.js';
import {
  type FinishedItem,
  type ItemSeat,
  type ItemStatus,
  type OutputItem,
  ProviderContractError,
} from './output-item.js';
import { PassThroughItem } from './pass-through-item.js';
import { ReasoningItem } from './reasoning-item.js';
import { type Outcome, type ResponseIdentity, ResponseSnapshots } from './response-snapshot.js';

/** What an assembler is made with. */
export interface AssemblerOptions extends ResponseIdentity {
  readonly ids: IdGenerator;
  /** Writes only the terminal event: for transports that want nothing but the Response. */
  readonly silent: boolean;
  /** Characters of model output that a response may hold. */
  readonly maxOutputCharacters: number;
  /** Goes on where another assembler of the same response stopped. */
  readonly resume?: { readonly sequenceNumber: number; readonly output: readonly Item[] };
}

/** ModelEvents that belong to an output item; usage, metadata and finish are the runner's business. */
export type OutputEvent = Exclude<ModelEvent, { type: 'metadata' | 'finish' }>;

/** A Response that will not change any more. */
export type FinalResponse = ResponseObject & { readonly status: TerminalStatus };

type Reducers = { readonly [K in OutputEvent['type']]: (event: Extract<OutputEvent, { type: K }>) => void };

/**
 * Turns what a model yields into the events of one response, in the order of protocol §4: added, part, deltas, done, and
 * exactly one terminal event. It owns the item ids and the Response object; it knows nothing of transports or storage.
 */
export class ResponseAssembler {
  private readonly events: EventWriter;
  private readonly snapshots: ResponseSnapshots;
  private readonly finished: FinishedItem[] = [];
  /** Open items that events name by key; '' is the item that keyless events write to. */
  private readonly open = new Map<string, OutputItem>();
  private nextOutputIndex: number;
  private characters = 0;
  private reported: Required<TokenCounts> | null = null;
  private terminated = false;

  constructor(private readonly options: AssemblerOptions) {
    const { resume } = options;
    this.events = new EventWriter(resume?.sequenceNumber ?? 0, options.silent);
    this.snapshots = new ResponseSnapshots(options);
    for (const item of resume?.output ?? []) this.finished.push({ item, json: JSON.stringify(item) });
    this.nextOutputIndex = this.finished.length;
  }

  /** Writes `response.created` and `response.in_progress`. */
  start(): void {
    this.events.writeSnapshot('response.created', () => this.snapshots.startJson());
    this.events.writeSnapshot('response.in_progress', () => this.snapshots.startJson());
  }

  /** Takes what the model yielded. Throws ProviderContractError for what no model may yield. */
  push(event: OutputEvent): void {
    if (!Object.hasOwn(this.reducers, event.type)) {
      throw new ProviderContractError(`there is no model event of type ${event.type}`);
    }
    const reduce = this.reducers[event.type] as (event: OutputEvent) => void;
    reduce(event);
  }

  /** The events written since the last call. */
  take(): readonly StreamEvent[] {
    return this.events.take();
  }

  /** Tokens the model reported, added up; null if it reported none. */
  get tokens(): TokenCounts | null {
    return this.reported;
  }

  /** The items that are finished, in the order of their output_index. */
  get output(): readonly Item[] {
    return this.sealed().map(({ item }) => item);
  }

  /** Closes every open item: nothing can be pushed into them any more. */
  closeItems(status: ItemStatus): void {
    const items = [...this.open.values()].sort((one, other) => one.outputIndex - other.outputIndex);
    this.open.clear();
    for (const item of items) this.finish(item, status);
  }

  /** The Response as it would end with this outcome. Writes nothing, so that it can be saved first. */
  conclude(outcome: Outcome, nowInSeconds: number): FinalResponse {
    return this.snapshots.final(outcome, this.sealed(), nowInSeconds);
  }

  /** Writes the terminal event; a second call is a fault of ours and throws. */
  terminate(response: FinalResponse): void {
    if (this.terminated) throw new Error(`response ${response.id} already has its terminal event`);
    this.terminated = true;
    this.events.writeTerminal(TERMINAL_EVENTS[response.status], response, () =>
      this.snapshots.finalJson(response, this.sealed()),
    );
  }

  private readonly reducers: Reducers = {
    text: ({ key, delta, logprobs }) => {
      if (this.accept(delta)) this.at(key, MessageItem).text(delta, logprobs);
    },
    refusal: ({ key, delta }) => {
      if (this.accept(delta)) this.at(key, MessageItem).refusal(delta);
    },
    annotation: ({ key, annotation }) => this.at(key, MessageItem).annotate(annotation),
    reasoning: ({ key, delta }) => {
      if (this.accept(delta)) this.at(key, ReasoningItem).text(delta);
    },
    reasoning_summary: ({ key, delta, part }) => {
      if (this.accept(delta)) this.at(key, ReasoningItem).summary(delta, part);
    },
    reasoning_encrypted: ({ key, content }) => {
      if (this.accept(content)) this.at(key, ReasoningItem).encrypt(content);
    },
    function_call: (event) => this.begin(event.key, (seat) => new CallItem(seat, FUNCTION_CALL, event)),
    function_call_arguments: ({ key, delta }) => {
      if (this.accept(delta)) this.call(key, 'function_call').append(delta);
    },
    custom_tool_call: (event) => this.begin(event.key, (seat) => new CallItem(seat, CUSTOM_TOOL_CALL, event)),
    custom_tool_call_input: ({ key, delta }) => {
      if (this.accept(delta)) this.call(key, 'custom_tool_call').append(delta);
    },
    end: ({ key }) => this.end(key),
    'item.open': ({ key, item }) => this.begin(key, (seat) => new PassThroughItem(seat, item)),
    'item.event': ({ key, event }) => this.existing(key, PassThroughItem).event(event),
    'item.close': ({ key, item }) => {
      this.existing(key, PassThroughItem).complete(item);
      this.end(key);
    },
    usage: (event) => this.addUsage(event),
  };

  /** `finished` without its holes: items finish in another order than they begin. */
  private sealed(): readonly FinishedItem[] {
    return Object.values(this.finished);
  }

  /** Empty deltas say nothing; a model without end must not fill the memory. */
  private accept(text: unknown): boolean {
    if (typeof text !== 'string') throw new ProviderContractError(`a delta must be a string, not ${typeof text}`);
    this.characters += text.length;
    if (this.characters > this.options.maxOutputCharacters) {
      throw new ProviderContractError(`the output is longer than ${this.options.maxOutputCharacters} characters`);
    }
    return text !== '';
  }

  /** The open item of a key; a keyless event of another kind closes what was open and begins an item of its own. */
  private at<T extends OutputItem>(key: string | undefined, kind: new (seat: ItemSeat) => T): T {
    const current = this.open.get(key ?? '');
    if (current instanceof kind) return current;
    if (current !== undefined && key !== undefined) throw wrongKind(key);
    return this.begin(key, (seat) => new kind(seat));
  }

  private existing<T extends OutputItem>(key: string | undefined, kind: new (...seat: never[]) => T): T {
    const current = this.open.get(key ?? '');
    if (!(current instanceof kind)) throw wrongKind(key);
    return current;
  }

  private call(key: string | undefined, type: CallItem['type']): CallItem {
    const current = this.existing(key, CallItem);
    if (current.type !== type) throw wrongKind(key);
    return current;
  }

  private begin<T extends OutputItem>(key: string | undefined, make: (seat: ItemSeat) => T): T {
    if (key !== undefined && this.open.has(key)) throw new ProviderContractError(`the key ${key} is already in use`);
    if (key === undefined) this.end(key);
    const item = make({ events: this.events, ids: this.options.ids, outputIndex: this.nextOutputIndex });
    this.nextOutputIndex += 1;
    this.open.set(key ?? '', item);
    return item;
  }

  private end(key: string | undefined): void {
    const item = this.open.get(key ?? '');
    this.open.delete(key ?? '');
    if (item !== undefined) this.finish(item, 'completed');
    else if (key !== undefined) throw wrongKind(key);
  }

  private finish(item: OutputItem, status: ItemStatus): void {
    this.finished[item.outputIndex] = item.close(status);
  }

  private addUsage(event: Extract<OutputEvent, { type: 'usage' }>): void {
    const sum = this.reported ?? { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 };
    this.reported = {
      input: sum.input + tokenCount(event.input),
      cached: sum.cached + tokenCount(event.cached),
      cacheWrite: sum.cacheWrite + tokenCount(event.cacheWrite),
      output: sum.output + tokenCount(event.output),
      reasoning: sum.reasoning + tokenCount(event.reasoning),
    };
  }
}

function wrongKind(key: string | undefined): ProviderContractError {
  const place = key === undefined ? 'the current item' : `the item ${key}`;
  return new ProviderContractError(`${place} is not open, or not of the kind that this event writes to`);
}

function tokenCount(value: number | undefined): number {
  if (value === undefined) return 0;
  if (!Number.isInteger(value) || value < 0) throw new ProviderContractError(`a token count cannot be ${value}`);
  return value;
}
