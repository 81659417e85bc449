import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import { ContextTooLargeError } from '../errors.js';
import { readItem } from '../stored-response.js';
import type { DanglingEntries } from './dangling-entries.js';
import { type Indexed, listedFor } from './indexes.js';
import { ITEM_NAME_LENGTH, itemName, type RedisKeys, withinOf } from './keys.js';
import type { ListedResponses } from './listed-responses.js';
import type { Redis } from './redis.js';
import { type Command, run } from './script.js';
import { ENTER } from './scripts/indexes.js';

/** Most holders of an item that are looked at together. */
const HOLDERS = 16;

/** Where an item is in the texts of its response, in bytes. */
interface Position {
  readonly text: 'input' | 'output';
  readonly offset: number;
  readonly length: number;
}

/** An item of a response, as an entry of the index says. */
interface HeldItem extends Position {
  readonly entry: string;
  readonly responseKey: string;
}

/** An item of a response that shows it. */
interface Shown extends HeldItem {
  readonly slot: string;
}

/** The items that a response shows to clients. Its hash names them (`names`), so that the index loses them with it. */
export class HeldItems {
  /** By `itemName`. */
  private readonly positions = new Map<string, Position>();

  /** `items`: where clients see them. */
  constructor(tenant: Tenant, items: Partial<Readonly<Record<Position['text'], readonly Item[]>>>) {
    for (const text of ['input', 'output'] as const) {
      let offset = 0;
      for (const item of items[text] ?? []) {
        const length = Buffer.byteLength(JSON.stringify(item));
        const name = itemName(tenant, item.id);
        if (!this.positions.has(name)) this.positions.set(name, { text, offset, length });
        // 1 is the comma between items.
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

  /** The commands that make the items of a stored response found by their ids. An entry ends with NUL, which no key has, and the position. */
  enter(keys: RedisKeys, response: Pick<Indexed, 'id' | 'expiresAt' | 'slack'>, now: number): readonly Command[] {
    const ttl = listedFor(response, now);
    return Array.from(this.positions, ([name, { text, offset, length }]) =>
      run(ENTER, [keys.holdersOf(name)], ttl, 0, `${response.id}\0${text}:${offset}:${length}`),
    );
  }
}

/** The commands that take the items of a response out of the index. `names`: as of `HeldItems`. */
export function leaveItems(keys: RedisKeys, responseKey: string, names: string): readonly Command[] {
  return Array.from({ length: names.length / ITEM_NAME_LENGTH }, (_, index): Command => {
    const name = names.slice(index * ITEM_NAME_LENGTH, (index + 1) * ITEM_NAME_LENGTH);
    return ['ZREMRANGEBYLEX', keys.holdersOf(name), `[${responseKey}\0`, `(${responseKey}\u0001`];
  });
}

/** Items by their ids: the index names the responses that show an item, and where in their texts it is. */
export class ItemIndex {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly responses: ListedResponses,
    private readonly dangling: DanglingEntries,
    private readonly maxContextBytes: number,
  ) {}

  /**
   * The items as the latest visible responses show them; those of conversations are not among them. Throws
   * ContextTooLargeError.
   */
  async find(tenant: Tenant, ids: readonly string[], within: string | undefined): Promise<ReadonlyMap<string, Item>> {
    const shown = new Map<string, Shown>();
    let wanted = [...new Set(ids)];
    for (let skipped = 0; wanted.length > 0; skipped += HOLDERS) {
      const holders = await this.holdersOf(tenant, wanted, skipped);
      const found = await this.firstShown(tenant, holders, within);
      for (const [id, item] of found) shown.set(id, item);
      wanted = wanted.filter((id) => !shown.has(id) && holders.get(id)?.length === HOLDERS);
    }
    return this.read(tenant, shown);
  }

  /** The next responses that have each item, the latest first. */
  private async holdersOf(
    tenant: Tenant,
    ids: readonly string[],
    skipped: number,
  ): Promise<ReadonlyMap<string, readonly HeldItem[]>> {
    const range = ['+', '-', 'BYLEX', 'REV', 'LIMIT', skipped, HOLDERS] as const;
    const replies = await this.redis.read(
      ...ids.map((id): Command => ['ZRANGE', this.keys.holders(tenant, id), ...range]),
    );
    return new Map(ids.map((id, index) => [id, (replies[index] as readonly string[]).map(readEntry)]));
  }

  /** The first holder of each item that is visible. */
  private async firstShown(
    tenant: Tenant,
    holders: ReadonlyMap<string, readonly HeldItem[]>,
    within: string | undefined,
  ): Promise<ReadonlyMap<string, Shown>> {
    const responseKeys = new Set([...holders.values()].flat().map(({ responseKey }) => responseKey));
    const criteria = { within: withinOf(within) };
    const { matching, missing } = await this.responses.match(tenant, [...responseKeys], criteria);
    const slotOf = new Map(matching.map(({ responseKey, slot }) => [responseKey, slot]));
    const gone = new Set(missing);
    const shown = new Map<string, Shown>();
    for (const [id, held] of holders) {
      const item = held.find(({ responseKey }) => slotOf.has(responseKey));
      const slot = item && slotOf.get(item.responseKey);
      if (item !== undefined && slot !== undefined) shown.set(id, { ...item, slot });
      const entries = held.filter(({ responseKey }) => gone.has(responseKey)).map(({ entry }) => entry);
      if (entries.length > 0) this.dangling.note(this.keys.holders(tenant, id), entries);
    }
    return shown;
  }

  private async read(tenant: Tenant, shown: ReadonlyMap<string, Shown>): Promise<ReadonlyMap<string, Item>> {
    const bytes = [...shown.values()].reduce((sum, { length }) => sum + length, 0);
    if (bytes > this.maxContextBytes) throw new ContextTooLargeError(this.maxContextBytes, 'input');
    const found = new Map<string, Item>();
    if (shown.size === 0) return found;
    const texts = await this.redis.read(
      ...Array.from(shown.values(), ({ responseKey, text, offset, length, slot }): Command => {
        const key = `${this.keys.slot(tenant, slot).response(responseKey)}:${text}`;
        return ['GETRANGE', key, offset, offset + length - 1];
      }),
    );
    for (const [index, id] of [...shown.keys()].entries()) {
      // Empty when it was freed meanwhile.
      if (texts[index] !== '') found.set(id, readItem(texts[index] as string, `the item ${id}`));
    }
    return found;
  }
}

function readEntry(entry: string): HeldItem {
  const end = entry.indexOf('\0');
  const [text, offset, length] = entry.slice(end + 1).split(':');
  return {
    entry,
    responseKey: entry.slice(0, end),
    text: text as Position['text'],
    offset: Number(offset),
    length: Number(length),
  };
}
