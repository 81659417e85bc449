import { type Tenant, tenantKey } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import {
  type ConversationContext,
  type ConversationRecord,
  type ConversationRefusal,
  ConversationStore,
  type OpenedConversation,
  type OpenOptions,
} from '../conversation-store.js';
import type { Page, PageRequest } from '../page.js';
import { conversationLock } from '../write-lock.js';
import { MemoryConversation, seen } from './memory-conversation.js';
import type { MemoryWriteLock } from './memory-write-lock.js';
import { pageOfItems } from './page-of-items.js';

/** Conversations in memory. */
export class MemoryConversationStore extends ConversationStore {
  private readonly conversations = new Map<string, MemoryConversation>();

  constructor(private readonly locks: MemoryWriteLock) {
    super();
  }

  /** A conversation that was not deleted. */
  find(tenant: Tenant, conversationId: string): MemoryConversation | undefined {
    return this.conversations.get(tenantKey(tenant, conversationId));
  }

  override async create(tenant: Tenant, record: ConversationRecord, items: readonly Item[]): Promise<void> {
    const conversation = new MemoryConversation(record);
    conversation.append(seen(items));
    this.conversations.set(tenantKey(tenant, record.id), conversation);
  }

  override async get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined> {
    return this.find(tenant, conversationId)?.record;
  }

  override async update(
    tenant: Tenant,
    conversationId: string,
    metadata: ConversationRecord['metadata'],
  ): Promise<ConversationRecord | undefined> {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return undefined;
    conversation.record = { ...conversation.record, metadata };
    return conversation.record;
  }

  override async delete(tenant: Tenant, conversationId: string): Promise<boolean> {
    return this.conversations.delete(tenantKey(tenant, conversationId));
  }

  override async open(
    tenant: Tenant,
    conversationId: string,
    { ttlMs, knownVersion }: OpenOptions,
  ): Promise<OpenedConversation | { readonly refused: 'not_found' | 'locked' }> {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return { refused: 'not_found' };
    const lease = await this.locks.tryAcquire(tenant, conversationLock(conversationId), ttlMs);
    if (lease === undefined) return { refused: 'locked' };
    return { ...lease, ...contextOf(conversation, knownVersion) };
  }

  override async read(tenant: Tenant, conversationId: string): Promise<ConversationContext | undefined> {
    const conversation = this.find(tenant, conversationId);
    return conversation && contextOf(conversation);
  }

  override async append(
    tenant: Tenant,
    conversationId: string,
    items: readonly Item[],
  ): Promise<ConversationRefusal | undefined> {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return { refused: 'not_found' };
    if (this.locks.isLocked(tenant, conversationLock(conversationId))) return { refused: 'locked' };
    const added = new Set<string>();
    for (const { id: itemId } of items) {
      if (conversation.has(itemId) || added.has(itemId)) return { refused: 'duplicate_item', itemId };
      added.add(itemId);
    }
    conversation.append(seen(items));
    return undefined;
  }

  override async items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const conversation = this.find(tenant, conversationId);
    return conversation && pageOfItems(conversation.visibleItems, page);
  }

  override async item(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }> {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return { refused: 'not_found' };
    return conversation.find(itemId) ?? { refused: 'item_not_found' };
  }

  override async deleteItem(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationRecord | ConversationRefusal> {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return { refused: 'not_found' };
    if (this.locks.isLocked(tenant, conversationLock(conversationId))) return { refused: 'locked' };
    if (conversation.find(itemId) === undefined) return { refused: 'item_not_found' };
    conversation.remove(itemId);
    return conversation.record;
  }
}

function contextOf(conversation: MemoryConversation, knownVersion?: number): ConversationContext {
  const { version, end } = conversation;
  return { version, items: version === knownVersion ? null : conversation.itemsBefore(end) };
}
