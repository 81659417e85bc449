import type { ForeignItem, IdGenerator, Item } from '../../protocol/index.js';
import type { CalledTool } from '../../providers/index.js';
import type { EventWriter } from './event-writer.js';
import { endLength, openingLength } from './own-form.js';
import { withoutHalves } from './whole-characters.js';
import { type FinishedItem, type OpenItemState, OVERHEAD_CHARACTERS, type TextState } from './state.js';

/** How an output item ended. */
export type ItemStatus = 'completed' | 'incomplete';

/** What a new item is created with. */
export interface ItemOptions {
  readonly events: EventWriter;
  readonly ids: IdGenerator;
  /** Whether a call runs asynchronously. */
  readonly isAsync: (call: CalledTool) => boolean;
  readonly outputIndex: number;
  /** The provider's key of the item; null for the item that events without a key refer to. */
  readonly key: string | null;
}

/** An item as an upstream opens it, and the id under which clients know it. */
export interface PassedItem {
  readonly id: string;
  readonly item: ForeignItem;
}

/** A parsed event of a stream. */
export interface WireEvent {
  readonly type: string;
  readonly output_index: number;
  readonly [member: string]: unknown;
}

/** Appends the delta of an event to its text; returns its characters of output. */
export function foldDelta(text: TextState | null, event: WireEvent): number {
  const { delta } = event as unknown as { readonly delta: string };
  if (text !== null) {
    text.text += delta;
    if (text.half !== undefined) text.half = undefined;
  }
  return 1 + delta.length;
}

/** What the final form of a text has beyond what was said; empty if they contradict each other. */
export function restOf(said: string, final: string): string {
  return final.startsWith(said) ? final.slice(said.length) : '';
}

/** A provider violated the contract of ModelEvent; the turn fails and the violation is logged. */
export class ProviderContractError extends Error {
  override readonly name = 'ProviderContractError';
}

/** Throws ProviderContractError unless `value` is a non-empty text: not every provider is written in TypeScript. */
export function requireText(value: unknown, what: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new ProviderContractError(`${what} must be a text`);
}

/** A finished item whose text may never be read, as that of an answer through a door. */
class UnwrittenItem implements FinishedItem {
  readonly kind = 'finished';

  constructor(readonly item: Item) {}

  get json(): string {
    return JSON.stringify(this.item);
  }
}

/** An output item in progress. A subclass per family of events implements their order (protocol §4). */
export abstract class OutputItem<State extends OpenItemState = OpenItemState> {
  private place: string | null = null;

  constructor(
    protected readonly events: EventWriter,
    readonly outputIndex: number,
    readonly state: State,
  ) {}

  /**
   * Writes the remaining events up to `output_item.done`, and returns the item. `final` is its final form as an upstream
   * sends it: what it has beyond the events so far is written first, and the item is it, with the id that clients know.
   * `requireSame` comes first.
   */
  close(status: ItemStatus, final?: ForeignItem): FinishedItem {
    const { state, events } = this;
    const item = final === undefined ? this.finish(status) : this.finishAs(withoutHalves(this.toFinal(final, status)));
    if (final === undefined && state.kind !== 'other' && events.isSilent) return new UnwrittenItem(item);
    const json = JSON.stringify(item);
    if (final !== undefined || state.kind === 'other') events.state.characters += endLength(state, item, json.length);
    events.write('response.output_item.done', `,"output_index":${this.outputIndex},"item":${json}`);
    return { kind: 'finished', item, json };
  }

  /** Throws ProviderContractError if a final form is that of another item. */
  requireSame(final: ForeignItem): void {
    if (final.type === this.type) return;
    throw new ProviderContractError(`an item of type ${this.type} ended as ${final.type}`);
  }

  /** Closes open parts and returns the item in its final form. */
  protected abstract finish(status: ItemStatus): Item;

  /** Writes what the final form has beyond the events so far, closes open parts, and returns the item. */
  protected abstract finishAs(final: Item): Item;

  /** The type of the item. */
  protected abstract get type(): string;

  /** The item as `output_item.added` shows it. */
  protected abstract atStart(): Item;

  /** Writes `output_item.added`. */
  protected announce(): void {
    const { events, outputIndex } = this;
    const { key } = this.state;
    // A key left by an interrupted item does not apply to another one.
    if (key !== events.state.nextKey) events.note({ type: 'key', key });
    events.state.nextKey = null;
    events.state.characters += OVERHEAD_CHARACTERS + openingLength(this.state);
    if (events.isSilent) return;
    events.write(
      'response.output_item.added',
      `,"output_index":${outputIndex},"item":${JSON.stringify(this.atStart())}`,
    );
  }

  /** Notes half a character that waits, behind what was written before it. */
  protected noteHalf({ half }: TextState, isSummary = false): void {
    if (half === undefined) return;
    this.events.note({ type: 'half', outputIndex: this.outputIndex, isSummary, unit: half });
  }

  private toFinal(item: ForeignItem, status: ItemStatus): Item {
    const { id, kind } = this.state;
    const final = { ...item, type: item.type, id };
    const given = item['status'] ?? null;
    // Reasoning has none upstream; SDKs expect one of messages and calls.
    const isMissing = given === null && (kind === 'message' || kind === 'call');
    return isMissing || given === 'in_progress' ? { ...final, status } : final;
  }

  /** `,"item_id":…,"output_index":…`, part of every event of the item. */
  protected get position(): string {
    this.place ??= `,"item_id":"${this.state.id}","output_index":${this.outputIndex}`;
    return this.place;
  }
}
