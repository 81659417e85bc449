import { estimateBytes, type Item } from '../protocol/index.js';
import { hasOwnSeal } from './marks.js';

interface Held {
  readonly bytes: number;
  holders: number;
}

/** Reference counts of items that several transcripts may share; the size of each counts once. */
export class HeldItems {
  private readonly items = new Map<Item, Held>();
  private total = 0;

  /** Estimated bytes of all held items. */
  get bytes(): number {
    return this.total;
  }

  hold(items: readonly Item[]): void {
    for (const item of items) {
      const held = this.items.get(item);
      if (held !== undefined) {
        held.holders += 1;
        continue;
      }
      const bytes = estimateBytes(item) + openedBytes(item);
      this.items.set(item, { bytes, holders: 1 });
      this.total += bytes;
    }
  }

  release(items: readonly Item[]): void {
    for (const item of items) {
      const held = this.items.get(item);
      if (held === undefined || (held.holders -= 1) > 0) continue;
      this.items.delete(item);
      this.total -= held.bytes;
    }
  }
}

/** Most bytes of what stands in a sealed item, which is kept with it once it was opened. */
function openedBytes(item: Item): number {
  return hasOwnSeal(item) ? estimateBytes(item.encrypted_content) : 0;
}
