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
import { EventWriter } from './event-writer.js';
import { OutputBudget } from './output-budget.js';
import { type ItemStatus, ProviderContractError } from './output-item.js';
import { OutputItems } from './output-items.js';
import { reduceEvent } from './reduce-event.js';
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

/** ModelEvents that change the response; metadata and finish are the runner's business. */
export type OutputEvent = Exclude<ModelEvent, { type: 'metadata' | 'finish' }>;

/** A Response that will not change any more. */
export type FinalResponse = ResponseObject & { readonly status: TerminalStatus };

/**
 * Turns what a model yields into the events of one response, in the order of protocol §4: added, part, deltas, done, and
 * exactly one terminal event. It owns the item ids and the Response object; it knows nothing of transports or storage.
 */
export class ResponseAssembler {
  private readonly events: EventWriter;
  private readonly snapshots: ResponseSnapshots;
  private readonly items: OutputItems;
  private readonly budget: OutputBudget;
  private reported: Required<TokenCounts> | null = null;
  private terminated = false;

  constructor({ resume, ...options }: AssemblerOptions) {
    this.events = new EventWriter(resume?.sequenceNumber ?? 0, options.silent);
    this.snapshots = new ResponseSnapshots(options);
    this.items = new OutputItems(this.events, options.ids, resume?.output ?? []);
    this.budget = new OutputBudget(options.maxOutputCharacters);
  }

  /** Writes `response.created`. */
  create(): void {
    this.events.writeSnapshot('response.created', () => this.snapshots.startJson());
  }

  /** Writes `response.created` and `response.in_progress`. */
  start(): void {
    this.create();
    this.events.writeSnapshot('response.in_progress', () => this.snapshots.startJson());
  }

  /** Takes what the model yielded. Throws ProviderContractError for what no model may yield. */
  push(event: OutputEvent): void {
    if (event.type === 'usage') this.addUsage(event);
    else if (this.budget.charge(event)) reduceEvent(this.items, event);
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
    return this.items.finished.map(({ item }) => item);
  }

  /** Closes every open item: nothing can be pushed into them any more. */
  closeItems(status: ItemStatus): void {
    this.items.closeAll(status);
  }

  /** Cuts every open item off; it does not throw. */
  cutItems(): void {
    this.items.cutAll();
  }

  /** The Response as it would end with this outcome. Writes nothing, so that it can be saved first. */
  conclude(outcome: Outcome, nowInSeconds: number): FinalResponse {
    return this.snapshots.final(outcome, this.items.finished, nowInSeconds);
  }

  /** Writes the terminal event; a second call is a fault of ours and throws. */
  terminate(response: FinalResponse): void {
    if (this.terminated) throw new Error(`response ${response.id} already has its terminal event`);
    this.terminated = true;
    this.events.writeTerminal(TERMINAL_EVENTS[response.status], response, () =>
      this.snapshots.finalJson(response, this.items.finished),
    );
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

function tokenCount(value: number | undefined): number {
  if (value === undefined) return 0;
  if (!Number.isInteger(value) || value < 0) throw new ProviderContractError(`a token count cannot be ${value}`);
  return value;
}
