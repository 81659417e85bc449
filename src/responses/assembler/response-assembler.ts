import {
  type FinalStatus,
  type IdGenerator,
  isTokenCount,
  type Item,
  itemIdPrefix,
  type OpaqueData,
  type Origin,
  type ResponseObject,
  type StreamEvent,
  TERMINAL_EVENTS,
  type TerminalStatus,
  type TokenCounts,
  toUsage,
  type Usage,
} from '../../protocol/index.js';
import type { CalledTool, Finish, ModelEvent, PlainReasoning } from '../../providers/index.js';
import { type GivenItems, interleave } from '../../state/index.js';
import { EventWriter, type Writing } from './event-writer.js';
import { fitsBudget } from './output-budget.js';
import { ProviderContractError } from './output-item.js';
import { OutputItems } from './output-items.js';
import { writtenForm } from './own-form.js';
import { reduceEvent } from './reduce-event.js';
import {
  type EarlyStatus,
  type FinalResponse,
  type Outcome,
  type ResponseIdentity,
  ResponseSnapshots,
} from './response-snapshot.js';
import {
  addTokens,
  type AssemblerNote,
  type AssemblerState,
  emptyState,
  finishedItemsOf,
  hiddenItemsOf,
  keepItem,
  newPass,
  OVERHEAD_CHARACTERS,
  type PassState,
} from './state.js';

/** Options of an assembler. */
export interface AssemblerOptions extends ResponseIdentity {
  readonly ids: IdGenerator;
  readonly writing: Writing;
  /** Most characters of model output. */
  readonly maxOutputCharacters: number;
  /** Whether an item of the context has an id, which no item of the output may have; none by default. */
  readonly isInContext?: (id: string) => boolean;
  /** Whether a call runs asynchronously, which it then says; none by default. */
  readonly isAsync?: (call: CalledTool) => boolean;
}

/** ModelEvents that change the response; Pass handles the others. */
export type OutputEvent = Exclude<ModelEvent, { type: 'metadata' | 'event' | 'finish' } | PlainReasoning>;

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
    const { ids, isInContext = () => false, isAsync = () => false } = options;
    this.items = new OutputItems(this.events, { ids, isInContext, isAsync });
  }

  /** Writes `response.created`. */
  create(status: EarlyStatus = 'in_progress'): void {
    if (this.state.opening === 'none') this.open('created', status);
  }

  /** Writes `response.created` and `response.queued`: the response waits for its run. */
  queue(): void {
    this.create('queued');
    if (this.state.opening === 'created') this.open('queued', 'queued');
  }

  /** The Response while it waits for its run. */
  queued(): ResponseObject {
    return this.snapshots.queued();
  }

  /** Writes `response.created`, unless it was written, and `response.in_progress`. */
  start(): void {
    this.create();
    if (this.state.opening !== 'in_progress') this.open('in_progress', 'in_progress');
  }

  /**
   * Records the version of the conversation that the passes read. False if passes of an earlier attempt have read another
   * one, and have come to something.
   */
  readsConversation(version: number): boolean {
    const { state } = this;
    if (state.conversationVersion === version) return true;
    const isUsed = state.items.length > 0 || state.passes.some(({ finish }) => finish !== null);
    if (state.conversationVersion !== null && isUsed) return false;
    state.conversationVersion = version;
    this.events.note({ type: 'conversation', version });
    return true;
  }

  /** Begins a pass, unless an earlier attempt has begun it and came to nothing. */
  beginPass(): void {
    const { items, passes } = this.state;
    const last = passes.at(-1);
    if (last?.finish === null && last.usage === null && last.firstIndex === items.length) return;
    passes.push(newPass(items.length));
    this.events.note({ type: 'pass' });
  }

  /** Ends the pass, and closes its open items as the model's reason demands. */
  endPass(finish: Finish): void {
    const { pass } = this;
    // Noted first: whoever goes on from here closes the items as here, and does not ask the model again.
    if (pass.finish === null) this.events.note({ type: 'finish', ...finish });
    pass.finish ??= finish;
    this.items.closeAll(finish.reason === 'stop' ? 'completed' : 'incomplete');
  }

  /** Records items that a policy gave the model after the pass; no event shows them. */
  give(items: readonly Item[]): void {
    const { items: output, dropped, given } = this.state;
    this.pass.isAnswered = true;
    given.push({ after: output.length - dropped.length, items });
    this.events.note({ type: 'given', items });
  }

  /** Applies an event of the model. Throws ProviderContractError for invalid events. */
  push(event: OutputEvent): void {
    if (event.type === 'usage') {
      const { searches = 0 } = event;
      if (searches > 0) this.countSearches(searches);
      this.report(toTokens(event));
      return;
    }
    if (event.type === 'hidden') {
      const items = event.items.map(({ id, ...item }) => ({
        ...item,
        id: typeof id === 'string' ? id : this.options.ids.next(itemIdPrefix(item.type)),
      }));
      for (const item of items) this.hide(item);
      this.events.note({ type: 'hidden', items });
      return;
    }
    const { characters } = this.state;
    const built = event.type === 'item.close' ? this.items.builtLength(event.key) : 0;
    if (fitsBudget(characters - built, event, this.options.maxOutputCharacters)) reduceEvent(this.items, event);
  }

  /**
   * Keeps opaque data of the pass for the next question of its model; no event shows it. Throws ProviderContractError if it would exceed
   * the output limit.
   */
  keep(opaque: OpaqueData): void {
    const item = { type: 'reasoning', id: this.options.ids.next('rs'), summary: [], opaque };
    this.hide(item);
    this.events.note({ type: 'kept', item });
  }

  private hide(item: Item): void {
    if (this.state.characters + JSON.stringify(item).length > this.options.maxOutputCharacters) {
      throw new ProviderContractError(`the output is longer than ${this.options.maxOutputCharacters} characters`);
    }
    keepItem(this.state, item);
  }

  private countSearches(count: number): void {
    this.state.searches += tokenCount(count);
    this.events.note({ type: 'searches', count });
  }

  /** Counts an event that is not part of the response as output, by its characters. False if it would exceed the output limit. */
  admit(characters: number): boolean {
    const all = this.state.characters + OVERHEAD_CHARACTERS + characters;
    if (all > this.options.maxOutputCharacters) return false;
    this.state.characters = all;
    return true;
  }

  /** Notes how many tokens the model was asked, for the case that it reports none. */
  asked(tokens: number): void {
    this.pass.asked = tokens;
    this.events.note({ type: 'asked', tokens });
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

  /** Writes an event that belongs to a transport. False after the terminal event. */
  interject(type: string, members: string): boolean {
    if (this.state.ended) return false;
    this.events.write(type, members);
    return true;
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

  /** How many passes the model was asked; a pass of a policy is followed by an empty list of given items. */
  get modelPasses(): number {
    const { passes, given } = this.state;
    return passes.length - given.filter(({ items }) => items.length === 0).length;
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

  /** The finished items from an output_index on, in order, without those that are left out. */
  outputFrom(index: number): readonly Item[] {
    return finishedItemsOf(this.state, index).map(({ item }) => item);
  }

  /** The items that are left out of the output, because their process died before their end, or nobody has seen them. */
  get droppedItems(): readonly Item[] {
    const { dropped, items } = this.state;
    return dropped.map((index) => items[index]).flatMap((item) => (item?.kind === 'finished' ? [item.item] : []));
  }

  /** What a transcript gets from an output_index on: finished items, opaque data, and hidden items. */
  transcriptFrom(index: number): readonly Item[] {
    const kept = this.state.kept.filter(({ before }) => before >= index);
    const hidden = kept.map(({ before, item }) => ({
      after: finishedItemsOf(this.state, index, before).length,
      items: [item],
    }));
    return interleave(this.outputFrom(index), hidden);
  }

  /** What a transcript has up to an output_index, also what policies gave the model. */
  transcriptUpTo(index: number): readonly Item[] {
    return interleave(this.outputUpTo(index), hiddenItemsOf(this.state, index));
  }

  /** What belongs to the transcript, but not to the output: what policies gave the model, opaque data, and hidden items. */
  get hidden(): readonly GivenItems[] {
    return hiddenItemsOf(this.state);
  }

  /** What was written from an output_index on, finished or not, also what is left out. */
  writtenFrom(index: number): readonly Item[] {
    return this.state.items.slice(index).map((item) => (item.kind === 'finished' ? item.item : writtenForm(item)));
  }

  /** Whether the current pass has written nothing but messages and reasoning so far. */
  get writesOnlyText(): boolean {
    const { items } = this.state;
    for (let index = this.pass.firstIndex; index < items.length; index++) {
      const item = items[index];
      const kind = item?.kind === 'finished' ? item.item.type : item?.kind;
      if (kind !== 'message' && kind !== 'reasoning') return false;
    }
    return true;
  }

  /** The finished items before an output_index. */
  outputUpTo(index: number): readonly Item[] {
    return finishedItemsOf(this.state, 0, index).map(({ item }) => item);
  }

  /** Closes every open item as incomplete; never throws. */
  cutItems(): void {
    this.items.cutAll();
  }

  /** Ends every open item as interrupted, and leaves it out of the output. */
  discardItems(): void {
    this.items.discardAll(this.options.id);
  }

  /** Closes every open item as incomplete and leaves it out of the output: no one knows how it would have gone on. */
  dropItems(): void {
    this.items.dropAll();
  }

  /** Leaves all that the pass has written out of the output: nobody has seen it, and the model is asked again. */
  dropPass(): void {
    const { kept } = this.state;
    const { firstIndex } = this.pass;
    this.items.dropAll(firstIndex);
    kept.splice(0, kept.length, ...kept.filter(({ before }) => before < firstIndex));
  }

  /** The final Response for an outcome. Writes nothing, so that it can be saved first. */
  conclude<S extends FinalStatus = TerminalStatus>(outcome: Outcome<S>, nowInSeconds: number): FinalResponse<S> {
    const { state } = this;
    return this.snapshots.final(outcome, { output: finishedItemsOf(state), searches: state.searches }, nowInSeconds);
  }

  /** Writes the terminal event. Throws when called twice. */
  terminate(response: FinalResponse<FinalStatus>): void {
    if (this.state.ended) throw new Error(`response ${response.id} already has its terminal event`);
    this.state.ended = true;
    if (this.events.isSilent) return;
    this.events.writeTerminal(TERMINAL_EVENTS[response.status], response, this.toJson(response));
  }

  /** A final Response as JSON text without its closing brace. */
  toJson(response: FinalResponse<FinalStatus>): string {
    return this.snapshots.toJson(response, finishedItemsOf(this.state));
  }

  private open(opening: Exclude<AssemblerState['opening'], 'none'>, status: EarlyStatus): void {
    this.state.opening = opening;
    if (this.events.isSilent) return;
    this.events.write(`response.${opening}`, `,"response":${this.snapshots.startJson(status)}`);
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

function tokenCount(value: unknown = 0): number {
  if (!isTokenCount(value)) throw new ProviderContractError(`a count cannot be ${String(value)}`);
  return value;
}
