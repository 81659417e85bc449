import { type Tenant, tenantKey } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type { MemoryConversation, NewEntry } from './conversation.js';
import { findLast, type SmallList, withEntry, withoutEntry } from './small-list.js';

/** The conversations that are found, and those that have an item. */
export class MemoryConversationIndex {
  private readonly conversations = new Map<string, MemoryConversation>();
  /** By tenant and id of the item. */
  private readonly holders = new Map<string, SmallList<MemoryConversation>>();

  /** In the order in which they were stored. */
  get all(): Iterable<MemoryConversation> {
    return this.conversations.values();
  }

  find(tenant: Tenant, conversationId: string): MemoryConversation | undefined {
    return this.conversations.get(tenantKey(tenant, conversationId));
  }

  /** An item that clients see, of the latest conversation that has it. */
  findItem(tenant: Tenant, itemId: string): Item | undefined {
    return findLast(this.holders.get(tenantKey(tenant, itemId)), () => true)?.find(itemId);
  }

  add(conversation: MemoryConversation): void {
    const { tenant, id, itemIds } = conversation;
    this.conversations.set(tenantKey(tenant, id), conversation);
    for (const itemId of itemIds) this.hold(conversation, itemId);
  }

  /** Items were appended. */
  addItems(conversation: MemoryConversation, entries: readonly NewEntry[]): void {
    for (const { item, isGiven } of entries) if (!isGiven) this.hold(conversation, item.id);
  }

  /** An item is about to be removed. */
  removeItem(conversation: MemoryConversation, itemId: string): void {
    const key = tenantKey(conversation.tenant, itemId);
    const rest = withoutEntry(this.holders.get(key), conversation);
    if (rest === undefined) this.holders.delete(key);
    else this.holders.set(key, rest);
  }

  remove(conversation: MemoryConversation): void {
    const { tenant, id, itemIds } = conversation;
    this.conversations.delete(tenantKey(tenant, id));
    for (const itemId of itemIds) this.removeItem(conversation, itemId);
  }

  private hold(conversation: MemoryConversation, itemId: string): void {
    const key = tenantKey(conversation.tenant, itemId);
    this.holders.set(key, withEntry(this.holders.get(key), conversation));
  }
}
