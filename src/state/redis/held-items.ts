import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import { type Indexed, type ItemText, listedFor, toHolder } from './indexes.js';
import { itemName, type RedisKeys } from './keys.js';
import { type Command, run } from './script.js';
import { ENTER } from './scripts/indexes.js';

/** Where an item is in the texts of its response, in bytes. */
interface Position {
  readonly text: ItemText;
  readonly offset: number;
  readonly length: number;
}

/** The items that a response shows to clients. Its hash names them (`names`), so that the index loses them with it. */
export class HeldItems {
  /** By `itemName`. */
  private readonly positions = new Map<string, Position>();

  /** `items`: where clients see them. */
  constructor(tenant: Tenant, items: Partial<Readonly<Record<ItemText, readonly Item[]>>>) {
    for (const text of ['input', 'output'] as const) {
      let offset = 0;
      for (const item of items[text] ?? []) {
        const length = Buffer.byteLength(JSON.stringify(item));
        const name = itemName(tenant, item.id);
        if (!this.positions.has(name)) this.positions.set(name, { text, offset, length });
        // The comma.
        offset += length + 1;
      }
    }
  }

  /** The names of all items, one after the other: the field `held` of the response. */
  get names(): string {
    return [...this.positions.keys()].join('');
  }

  /** The field of the hash of a response, if there is something to say. */
  get fields(): readonly string[] {
    return this.positions.size === 0 ? [] : ['held', this.names];
  }

  /** The commands that make the items of a stored response found by their ids. */
  enter(keys: RedisKeys, response: Pick<Indexed, 'id' | 'expiresAt' | 'slack'>, now: number): readonly Command[] {
    const ttl = listedFor(response, now);
    return Array.from(this.positions, ([name, position]) =>
      run(ENTER, [keys.holdersOf(name)], ttl, 0, toHolder({ responseKey: response.id, ...position })),
    );
  }
}
