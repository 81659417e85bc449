import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import {
  type ConversationContext,
  type ConversationRecord,
  type ConversationRefusal,
  ConversationStore,
  type OpenedConversation,
  type OpenOptions,
} from '../conversation-store.js';
import { UnknownCursorError } from '../errors.js';
import type { Page, PageRequest } from '../page.js';
import { conversationLock } from '../write-lock.js';
import type { InProcessLock } from '../in-process/locks.js';
import { MemoryConversation, seenEntries } from './conversation.js';
import type { MemoryState } from './state.js';

/** Conversations in memory, bounded together with the responses. */
export class MemoryConversationStore extends ConversationStore {
  constructor(
    private readonly state: MemoryState,
    private readonly locks: InProcessLock,
  ) {
    super();
  }

  override async create(tenant: Tenant, record: ConversationRecord, items: readonly Item[]): Promise<void> {
    if (this.find(tenant, record.id) !== undefined) return;
    const conversation = new MemoryConversation(tenant, record);
    conversation.append(seenEntries(items));
    this.state.addConversation(conversation);
  }

  override async get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined> {
    return this.find(tenant, conversationId)?.record;
  }

  override async update(tenant: Tenant, conversationId: string, metadata: ConversationRecord['metadata']) {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return undefined;
    this.state.updateConversation(conversation, { ...conversation.record, metadata });
    return conversation.record;
  }

  override async delete(tenant: Tenant, conversationId: string): Promise<boolean> {
    const conversation = this.find(tenant, conversationId);
    if (conversation !== undefined) this.state.dropConversation(conversation);
    return conversation !== undefined;
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
    const lock = conversationLock(conversationId);
    if (this.locks.isLocked(tenant, lock)) return { refused: 'locked' };
    const duplicate = items.find(({ id }) => conversation.has(id));
    if (duplicate !== undefined) return { refused: 'duplicate_item', itemId: duplicate.id };
    this.state.appendTo(conversation, seenEntries(items));
    this.locks.revoke(tenant, lock);
    return undefined;
  }

  override async items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const conversation = this.find(tenant, conversationId);
    if (conversation === undefined) return undefined;
    const cursor = page.after ?? page.before;
    if (cursor === undefined) return conversation.page(page, undefined);
    const position = this.state.positionOf(conversation, cursor);
    if (position === undefined) throw new UnknownCursorError(page);
    return conversation.page(page, position);
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
    const lock = conversationLock(conversationId);
    if (this.locks.isLocked(tenant, lock)) return { refused: 'locked' };
    if (conversation.find(itemId) === undefined) return { refused: 'item_not_found' };
    this.state.removeFrom(conversation, itemId);
    this.locks.revoke(tenant, lock);
    return conversation.record;
  }

  private find(tenant: Tenant, conversationId: string): MemoryConversation | undefined {
    return this.state.conversations.find(tenant, conversationId);
  }
}

function contextOf(conversation: MemoryConversation, knownVersion?: number): ConversationContext {
  const { version, end } = conversation;
  return { version, items: version === knownVersion ? null : conversation.itemsBefore(end) };
}
