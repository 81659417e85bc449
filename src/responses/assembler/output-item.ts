import type { IdGenerator, Item } from '../../protocol/index.js';
import type { EventWriter } from './event-writer.js';
import { type FinishedItem, type OpenItemState, OVERHEAD_CHARACTERS, type TextState } from './state.js';

/** How an output item ended. */
export type ItemStatus = 'completed' | 'incomplete';

/** What a new item is created with. */
export interface ItemOptions {
  readonly events: EventWriter;
  readonly ids: IdGenerator;
  readonly outputIndex: number;
  /** The provider's key of the item; null for the item that events without a key refer to. */
  readonly key: string | null;
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
  if (text !== null) text.text += delta;
  return 1 + delta.length;
}

/** A provider violated the contract of ModelEvent; the turn fails and the violation is logged. */
export class ProviderContractError extends Error {
  override readonly name = 'ProviderContractError';
}

/** Throws ProviderContractError unless `value` is a non-empty text: not every provider is written in TypeScript. */
export function requireText(value: unknown, what: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new ProviderContractError(`${what} must be a text`);
}

/** An output item in progress. A subclass per family of events implements their order (protocol §4). */
export abstract class OutputItem<State extends OpenItemState = OpenItemState> {
  private place: string | null = null;

  constructor(
    protected readonly events: EventWriter,
    readonly outputIndex: number,
    readonly state: State,
  ) {}

  /** Writes the remaining events up to `output_item.done`, and returns the item. */
  close(status: ItemStatus): FinishedItem {
    const item = this.finish(status);
    const json = JSON.stringify(item);
    this.events.write('response.output_item.done', `,"output_index":${this.outputIndex},"item":${json}`);
    return { kind: 'finished', item, json };
  }

  /** Closes open parts and returns the item in its final form. */
  protected abstract finish(status: ItemStatus): Item;

  /** The item as `output_item.added` shows it. */
  protected abstract atStart(): Item;

  /** Writes `output_item.added`. */
  protected announce(): void {
    const { events, outputIndex } = this;
    const { key } = this.state;
    // A key left by an interrupted item does not apply to another one.
    if (key !== events.state.nextKey) events.note({ type: 'key', key });
    events.state.nextKey = null;
    events.state.characters += OVERHEAD_CHARACTERS;
    if (events.isSilent) return;
    events.write(
      'response.output_item.added',
      `,"output_index":${outputIndex},"item":${JSON.stringify(this.atStart())}`,
    );
  }

  /** `,"item_id":…,"output_index":…`, part of every event of the item. */
  protected get position(): string {
    this.place ??= `,"item_id":"${this.state.id}","output_index":${this.outputIndex}`;
    return this.place;
  }
}
