import type { IdGenerator, Item } from '../../protocol/index.js';
import type { EventWriter } from './event-writer.js';

/** How an output item ended. */
export type ItemStatus = 'completed' | 'incomplete';

/** An item that takes no more events: as an object for the store, and as the JSON text that already went out. */
export interface FinishedItem {
  readonly item: Item;
  readonly json: string;
}

/** What every open item needs of its surroundings. */
export interface ItemSeat {
  readonly events: EventWriter;
  readonly ids: IdGenerator;
  readonly outputIndex: number;
}

/** A provider broke the contract of ModelEvent; the turn fails and our log says how. */
export class ProviderContractError extends Error {
  override readonly name = 'ProviderContractError';
}

/** Throws ProviderContractError unless `value` is a text with something in it: not every provider is TypeScript. */
export function requireText(value: unknown, what: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw new ProviderContractError(`${what} must be a text`);
}

/** An output item while the model is writing it. Each family of events has a subclass that knows its order (protocol §4). */
export abstract class OutputItem {
  readonly id: string;
  readonly outputIndex: number;
  protected readonly events: EventWriter;
  /** `,"item_id":…,"output_index":…` of every event below the item itself. */
  protected readonly position: string;

  constructor(seat: ItemSeat, idPrefix: string) {
    this.events = seat.events;
    this.id = seat.ids.next(idPrefix);
    this.outputIndex = seat.outputIndex;
    this.position = `,"item_id":"${this.id}","output_index":${this.outputIndex}`;
  }

  /** Writes what is still missing, down to `output_item.done`, and gives the item. */
  close(status: ItemStatus): FinishedItem {
    const item = this.finish(status);
    const json = JSON.stringify(item);
    this.events.write('response.output_item.done', `,"output_index":${this.outputIndex},"item":${json}`);
    return { item, json };
  }

  /** Closes open parts and gives the item in its final form. */
  protected abstract finish(status: ItemStatus): Item;

  protected announce(item: Item): void {
    this.events.write(
      'response.output_item.added',
      `,"output_index":${this.outputIndex},"item":${JSON.stringify(item)}`,
    );
  }
}
