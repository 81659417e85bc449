import type { IdGenerator, Item } from '../../protocol/index.js';
import type { EventWriter } from './event-writer.js';
import { type FinishedItem, type OpenItemState, OVERHEAD_CHARACTERS, type TextState } from './state.js';

/** How an output item ended. */
export type ItemStatus = 'completed' | 'incomplete';

/** What a new item needs of its dependencies. */
export interface ItemSeat {
  readonly events: EventWriter;
  readonly ids: IdGenerator;
  readonly outputIndex: number;
  /** What its provider calls it; null for the item that events without a key write to. */
  readonly key: string | null;
}

/** An event of a stream, read back. */
export interface WireEvent {
  readonly type: string;
  readonly output_index: number;
  readonly [member: string]: unknown;
}

/** Adds the delta of an event to the text that it belongs to; gives the characters of output in it. */
export function foldDelta(text: TextState | null, event: WireEvent): number {
  const { delta } = event as unknown as { readonly delta: string };
  if (text !== null) text.text += delta;
  return 1 + delta.length;
}

/** A provider broke the contract of ModelEvent; the turn fails and our log says how. */
export class ProviderContractError extends Error {
  override readonly name = 'ProviderContractError';
}

/** Throws ProviderContractError unless `value` is a text with something in it: not every provider is TypeScript. */
export function requireText(value: unknown, what: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new ProviderContractError(`${what} must be a text`);
}

/**
 * An output item while the model is writing it: its state, and what writes its events. Each family of events has a subclass
 * that knows its order (protocol §4).
 */
export abstract class OutputItem<State extends OpenItemState = OpenItemState> {
  private place: string | null = null;

  constructor(
    protected readonly events: EventWriter,
    readonly outputIndex: number,
    readonly state: State,
  ) {}

  /** Writes what is still missing, down to `output_item.done`, and gives the item. */
  close(status: ItemStatus): FinishedItem {
    const item = this.finish(status);
    const json = JSON.stringify(item);
    this.events.write('response.output_item.done', `,"output_index":${this.outputIndex},"item":${json}`);
    return { kind: 'finished', item, json };
  }

  /** Closes open parts and gives the item in its final form. */
  protected abstract finish(status: ItemStatus): Item;

  /** The item as it is shown when it begins. */
  protected abstract atStart(): Item;

  /** Writes `output_item.added`. */
  protected announce(): void {
    const { events, outputIndex } = this;
    const { key } = this.state;
    // One that a cut left behind does not hold for another item.
    if (key !== events.state.nextKey) events.note({ type: 'key', key });
    events.state.nextKey = null;
    events.state.characters += OVERHEAD_CHARACTERS;
    if (events.isSilent) return;
    events.write(
      'response.output_item.added',
      `,"output_index":${outputIndex},"item":${JSON.stringify(this.atStart())}`,
    );
  }

  /** `,"item_id":…,"output_index":…` of every event below the item itself. */
  protected get position(): string {
    this.place ??= `,"item_id":"${this.state.id}","output_index":${this.outputIndex}`;
    return this.place;
  }
}
