import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import { ContextTooLargeError, StoreUnavailableError } from '../errors.js';
import { conversationLock } from '../write-lock.js';
import { readItem } from '../stored-response.js';
import { toItemId } from './conversation-items.js';
import { CERTAIN_MS } from './dangling-entries.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, run } from './script.js';
import { CONVERSATION_ITEM, type ConversationItem } from './scripts/conversation-items.js';
import { WITHDRAW } from './scripts/indexes.js';

/** Most commands of a round trip: their items can be large. */
const BATCH = 32;

/** One conversation that may have an item. */
interface Holder {
  readonly itemId: string;
  /** The name of the conversation in the index: its id as JSON. */
  readonly name: string;
  readonly since: number;
}

/**
 * Which conversations have an item: by the id of the item, with the time when it came, ms. They do not expire. A conversation says
 * itself whether it has the item.
 */
export class ConversationIndex {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly maxBytes: number,
  ) {}

  /** Commands that add items of a conversation. */
  addCommands(tenant: Tenant, conversationId: string, items: readonly Item[], now: number): readonly Command[] {
    const name = JSON.stringify(conversationId);
    return items.map(({ id }) => ['ZADD', this.keys.conversationsWith(tenant, id), now, name]);
  }

  /** Removes items that were added at a time, and that the conversation has refused. Never rejects: what is left is removed when somebody asks for it. */
  async withdraw(tenant: Tenant, conversationId: string, items: readonly Item[], since: number): Promise<void> {
    const name = JSON.stringify(conversationId);
    const holders = items.map(({ id }): Holder => ({ itemId: id, name, since }));
    try {
      for (let start = 0; start < holders.length; start += BATCH) {
        const asked = holders.slice(start, start + BATCH);
        const texts = await this.textsOf(tenant, asked);
        const refused = asked.filter((_, index) => texts[index] == null);
        await this.redis.write(
          ...refused.map(({ itemId }) => run(WITHDRAW, [this.keys.conversationsWith(tenant, itemId)], name, since)),
        );
      }
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
    }
  }

  /** Removes items of a conversation. */
  async remove(tenant: Tenant, conversationId: string, itemIds: readonly string[]): Promise<void> {
    const name = JSON.stringify(conversationId);
    const commands = itemIds.map((id): Command => ['ZREM', this.keys.conversationsWith(tenant, id), name]);
    for (let start = 0; start < commands.length; start += BATCH) {
      await this.redis.write(...commands.slice(start, start + BATCH));
    }
  }

  /**
   * The items that clients see, each of the latest conversation that has it; those that are not found are omitted. Two round trips
   * where the latest ones have them. Throws ContextTooLargeError.
   */
  async find(tenant: Tenant, itemIds: readonly string[], now: number): Promise<ReadonlyMap<string, Item>> {
    const found = new Map<string, Item>();
    const gone: Command[] = [];
    let bytes = 0;
    let candidates = await this.holdersOf(tenant, itemIds);
    while (candidates.length > 0) {
      const asked = candidates.slice(0, BATCH).flatMap(([latest]) => latest ?? []);
      const texts = await this.textsOf(tenant, asked);
      for (const [index, { itemId, name, since }] of asked.entries()) {
        const text = texts[index];
        if (text != null) {
          bytes += Buffer.byteLength(text);
          if (bytes > this.maxBytes) throw new ContextTooLargeError(this.maxBytes, 'input');
          found.set(itemId, readItem(text, `the item ${itemId}`));
        } else if (since < now - CERTAIN_MS) {
          gone.push(run(WITHDRAW, [this.keys.conversationsWith(tenant, itemId)], name, since));
        }
      }
      candidates = candidates
        .map((holders, index) => (index < BATCH ? holders.slice(1) : holders))
        .filter(([next]) => next !== undefined && !found.has(next.itemId));
    }
    if (gone.length > 0) await this.redis.write(...gone);
    return found;
  }

  /** The conversations that may have each item, latest first, without the items that none may have. */
  private async holdersOf(tenant: Tenant, itemIds: readonly string[]): Promise<readonly (readonly Holder[])[]> {
    const replies = await this.redis.read(
      ...itemIds.map((id): Command => {
        const key = this.keys.conversationsWith(tenant, id);
        return ['ZRANGE', key, 0, -1, 'REV', 'WITHSCORES'];
      }),
    );
    return replies.flatMap((reply, index) => {
      const entries = reply as readonly (readonly [name: string, since: number | string])[];
      const itemId = itemIds[index] as string;
      return entries.length === 0 ? [] : [entries.map(([name, since]) => ({ itemId, name, since: Number(since) }))];
    });
  }

  /** The items that conversations have, JSON; null for those that they have not. */
  private async textsOf(tenant: Tenant, holders: readonly Holder[]): Promise<readonly (string | null | undefined)[]> {
    const replies = await this.redis.read(
      ...holders.map(({ itemId, name }) => {
        const { base } = this.keys.slot(tenant, conversationLock(JSON.parse(name) as string));
        return run(CONVERSATION_ITEM, [base], toItemId(itemId));
      }),
    );
    return (replies as readonly ConversationItem[]).map(([, text]) => text);
  }
}
