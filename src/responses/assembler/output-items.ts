import type { IdGenerator, Item } from '../../protocol/index.js';
import { CallItem } from './call-item.js';
import type { EventWriter } from './event-writer.js';
import {
  type FinishedItem,
  type ItemSeat,
  type ItemStatus,
  type OutputItem,
  ProviderContractError,
} from './output-item.js';

/** The key of the item that keyless events write to. */
const KEYLESS = '';

/** The output items of a response: which are open under which key, and which are finished, in the order they began. */
export class OutputItems {
  private readonly finishedByIndex: FinishedItem[] = [];
  private readonly open = new Map<string, OutputItem>();
  private nextIndex: number;

  /** `earlier` are the items of a response that goes on. */
  constructor(
    private readonly events: EventWriter,
    private readonly ids: IdGenerator,
    earlier: readonly Item[],
  ) {
    for (const item of earlier) this.finishedByIndex.push({ item, json: JSON.stringify(item) });
    this.nextIndex = earlier.length;
  }

  /** The finished items; items may finish in another order than they began. */
  get finished(): readonly FinishedItem[] {
    // Skips the places of items that are still open.
    return Object.values(this.finishedByIndex);
  }

  /** The open item of a key; a keyless event of another kind closes what was open and begins an item of its own. */
  at<T extends OutputItem>(key: string | undefined, kind: new (seat: ItemSeat) => T): T {
    const current = this.open.get(key ?? KEYLESS);
    if (current instanceof kind) return current;
    if (current !== undefined && key !== undefined) throw wrongKind(key);
    return this.begin(key, (seat) => new kind(seat));
  }

  /** The open item of a key, which must be there and of a kind. */
  existing<T extends OutputItem>(key: string | undefined, kind: new (...seat: never[]) => T): T {
    const current = this.open.get(key ?? KEYLESS);
    if (!(current instanceof kind)) throw wrongKind(key);
    return current;
  }

  /** The open call of a key, which must be there and of a family. */
  call(key: string | undefined, type: CallItem['type']): CallItem {
    const current = this.existing(key, CallItem);
    if (current.type !== type) throw wrongKind(key);
    return current;
  }

  /** Opens an item; without a key it closes the keyless one before. */
  begin<T extends OutputItem>(key: string | undefined, make: (seat: ItemSeat) => T): T {
    if (key !== undefined && this.open.has(key)) throw new ProviderContractError(`the key ${key} is already in use`);
    if (key === undefined) this.end(key);
    const item = make({ events: this.events, ids: this.ids, outputIndex: this.nextIndex });
    this.nextIndex += 1;
    this.open.set(key ?? KEYLESS, item);
    return item;
  }

  /** Closes the item of a key; without a key, the keyless one if there is one. */
  end(key: string | undefined): void {
    const item = this.open.get(key ?? KEYLESS);
    if (item !== undefined) this.finish(key ?? KEYLESS, item, 'completed');
    else if (key !== undefined) throw wrongKind(key);
  }

  /** Closes every open item. */
  closeAll(status: ItemStatus): void {
    for (const [key, item] of this.openInOrder()) this.finish(key, item, status);
  }

  /** Cuts every open item off. The last resort, so it does not throw: an item that cannot be shown is left out. */
  cutAll(): void {
    for (const [key, item] of this.openInOrder()) {
      try {
        this.finish(key, item, 'incomplete');
      } catch {
        // The turn has failed already, and says why.
      }
    }
  }

  private finish(key: string, item: OutputItem, status: ItemStatus): void {
    this.open.delete(key);
    this.finishedByIndex[item.outputIndex] = item.close(status);
  }

  private openInOrder(): readonly (readonly [key: string, item: OutputItem])[] {
    return [...this.open].sort(([, one], [, other]) => one.outputIndex - other.outputIndex);
  }
}

function wrongKind(key: string | undefined): ProviderContractError {
  const place = key === undefined ? 'the current item' : `the item ${key}`;
  return new ProviderContractError(`${place} is not open, or not of the kind that this event writes to`);
}
