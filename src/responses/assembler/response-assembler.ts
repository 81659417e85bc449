import {
  type IdGenerator,
  type Item,
  type Origin,
  type StreamEvent,
  TERMINAL_EVENTS,
  type TokenCounts,
  toUsage,
  type Usage,
} from '../../protocol/index.js';
import type { ModelEvent } from '../../providers/index.js';
import { EventWriter, type Writing } from './event-writer.js';
import { fitsBudget } from './output-budget.js';
import { type ItemStatus, ProviderContractError } from './output-item.js';
import { OutputItems } from './output-items.js';
import { reduceEvent } from './reduce-event.js';
import { type FinalResponse, type Outcome, type ResponseIdentity, ResponseSnapshots } from './response-snapshot.js';
import { addTokens, type AssemblerNote, type AssemblerState, emptyState, type PassState } from './state.js';

/** Options of an assembler. */
export interface AssemblerOptions extends ResponseIdentity {
  readonly ids: IdGenerator;
  readonly writing: Writing;
  /** Most characters of model output. */
  readonly maxOutputCharacters: number;
}

/** ModelEvents that change the response; Pass handles metadata and finish. */
export type OutputEvent = Exclude<ModelEvent, { type: 'metadata' | 'finish' }>;

/**
 * Converts ModelEvents to the events of one response, in the order of protocol §4: added, part, deltas, done, and
 * exactly one terminal event. Creates the item ids and the Response object; independent of transports and storage. All
 * of its data is in `state`: an assembler created from a state continues it.
 */
export class ResponseAssembler {
  private readonly events: EventWriter;
  private readonly snapshots: ResponseSnapshots;
  private readonly items: OutputItems;

  constructor(
    private readonly options: AssemblerOptions,
    readonly state: AssemblerState = emptyState(),
  ) {
    this.events = new EventWriter(state, options.writing);
    this.snapshots = new ResponseSnapshots(options);
    this.items = new OutputItems(this.events, options.ids);
  }

  /** Writes `response.created`. */
  create(): void {
    if (this.state.opening !== 'none') return;
    this.state.opening = 'created';
    if (!this.events.isSilent) this.events.write('response.created', `,"response":${this.snapshots.startJson()}`);
  }

  /** Writes `response.created` and `response.in_progress`. */
  start(): void {
    this.create();
    if (this.state.opening === 'in_progress') return;
    this.state.opening = 'in_progress';
    if (!this.events.isSilent) this.events.write('response.in_progress', `,"response":${this.snapshots.startJson()}`);
  }

  /** Begins a pass. */
  beginPass(): void {
    this.state.passes.push({ firstIndex: this.state.items.length, usage: null, origin: null });
    this.events.note({ type: 'pass' });
  }

  /** Records items that a policy gave the model; no event shows them. */
  give(items: readonly Item[]): void {
    this.state.given.push({ after: this.state.items.length, items });
    this.events.note({ type: 'given', items });
  }

  /** Applies an event of the model. Throws ProviderContractError for invalid events. */
  push(event: OutputEvent): void {
    if (event.type === 'usage') this.report(toTokens(event));
    else if (fitsBudget(this.state.characters, event, this.options.maxOutputCharacters)) reduceEvent(this.items, event);
  }

  /** Adds tokens to the current pass. */
  report(tokens: Required<TokenCounts>): void {
    const { pass } = this;
    pass.usage = addTokens(pass.usage, tokens);
    this.events.note({ type: 'usage', tokens });
  }

  /** Sets the origin of the current pass. */
  nameOrigin(origin: Origin): void {
    this.pass.origin = origin;
    this.events.note({ type: 'origin', origin });
  }

  /** The events written since the last call. */
  takeEvents(): readonly StreamEvent[] {
    return this.events.takeEvents();
  }

  /** The notes written since the last call. */
  takeNotes(): readonly AssemblerNote[] {
    return this.events.takeNotes();
  }

  /** The current or last pass. */
  get pass(): PassState {
    const pass = this.state.passes.at(-1);
    if (pass === undefined) throw new Error('no pass was begun');
    return pass;
  }

  /** Tokens of all passes; null when none were reported. */
  get usage(): Usage | null {
    const { passes } = this.state;
    let tokens = passes[0]?.usage ?? null;
    for (let index = 1; index < passes.length; index++) {
      const reported = passes[index]?.usage ?? null;
      if (reported !== null) tokens = addTokens(tokens, reported);
    }
    return tokens === null ? null : toUsage(tokens);
  }

  /** The finished items from an output_index on, in order. */
  outputFrom(index: number): readonly Item[] {
    const items = index === 0 ? this.state.items : this.state.items.slice(index);
    return items.filter((item) => item.kind === 'finished').map(({ item }) => item);
  }

  /** Closes every open item. */
  closeItems(status: ItemStatus): void {
    this.items.closeAll(status);
  }

  /** Closes every open item as incomplete; never throws. */
  cutItems(): void {
    this.items.cutAll();
  }

  /** The final Response for an outcome. Writes nothing, so that it can be saved first. */
  conclude(outcome: Outcome, nowInSeconds: number): FinalResponse {
    return this.snapshots.final(outcome, this.items.finished, nowInSeconds);
  }

  /**
   * Writes the terminal event, and returns the Response as JSON text without its closing brace. Throws when called
   * twice.
   */
  terminate(response: FinalResponse): string {
    if (this.state.ended) throw new Error(`response ${response.id} already has its terminal event`);
    this.state.ended = true;
    const json = this.snapshots.toJson(response, this.items.finished);
    this.events.writeTerminal(TERMINAL_EVENTS[response.status], response, json);
    return json;
  }
}

function toTokens(event: Extract<OutputEvent, { type: 'usage' }>): Required<TokenCounts> {
  return {
    input: tokenCount(event.input),
    cached: tokenCount(event.cached),
    cacheWrite: tokenCount(event.cacheWrite),
    output: tokenCount(event.output),
    reasoning: tokenCount(event.reasoning),
  };
}

function tokenCount(value: number | undefined): number {
  if (value === undefined) return 0;
  if (!Number.isInteger(value) || value < 0) throw new ProviderContractError(`a token count cannot be ${value}`);
  return value;
}
