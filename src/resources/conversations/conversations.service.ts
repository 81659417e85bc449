import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { ContextResolver, conversationLocked, duplicateItem } from '../../context/index.js';
import {
  ApiError,
  IdGenerator,
  type InputItem,
  type Item,
  type ListObject,
  toListObject,
} from '../../protocol/index.js';
import { toItems } from '../../responses/index.js';
import {
  type ConversationRecord,
  type ConversationRefusal,
  ConversationStore,
  type PageRequest,
} from '../../state/index.js';
import { Clock } from '../../time/index.js';
import type { CreateConversationBody } from './conversation-bodies.js';

/**
 * Operations on conversations (protocol §1.2). Conversations of other tenants return 404. While a turn runs in a
 * conversation, its items do not change: 400 `conversation_locked`.
 */
@Injectable()
export class ConversationsService {
  constructor(
    private readonly conversations: ConversationStore,
    private readonly contexts: ContextResolver,
    private readonly ids: IdGenerator,
    private readonly clock: Clock,
  ) {}

  /** Throws ApiError 400 for two items with one id, and 404 for an `item_reference` that is not found. */
  async create(tenant: Tenant, { items, metadata }: CreateConversationBody): Promise<ConversationRecord> {
    const added = await this.toStored(tenant, items ?? []);
    const record = { id: this.ids.next('conv'), createdAt: this.clock.nowInSeconds(), metadata: metadata ?? {} };
    await this.conversations.create(tenant, record, added);
    return record;
  }

  /** Throws ApiError 404. */
  async get(tenant: Tenant, conversationId: string): Promise<ConversationRecord> {
    return found(conversationId, await this.conversations.get(tenant, conversationId));
  }

  /** Replaces the metadata; null removes it. Throws ApiError 404. */
  async update(
    tenant: Tenant,
    conversationId: string,
    metadata: ConversationRecord['metadata'] | null,
  ): Promise<ConversationRecord> {
    return found(conversationId, await this.conversations.update(tenant, conversationId, metadata ?? {}));
  }

  /** Deletes a conversation; its responses keep their context. Throws ApiError 404, also the second time. */
  async delete(tenant: Tenant, conversationId: string): Promise<void> {
    if (!(await this.conversations.delete(tenant, conversationId)))
      throw ApiError.notFound('Conversation', conversationId);
  }

  /**
   * Adds items and returns them as they are stored. Throws ApiError 404, 400 `conversation_locked`, and 400 for an id that
   * is there already.
   */
  async addItems(tenant: Tenant, conversationId: string, items: readonly InputItem[]): Promise<ListObject<Item>> {
    const added = await this.toStored(tenant, items);
    const refusal = await this.conversations.append(tenant, conversationId, added);
    if (refusal !== undefined) throw refuse(refusal, conversationId);
    return toListObject(added, false);
  }

  /** A page of the items. Throws ApiError 404, or UnknownCursorError. */
  async items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<ListObject<Item>> {
    const { data, hasMore } = found(conversationId, await this.conversations.items(tenant, conversationId, page));
    return toListObject(data, hasMore);
  }

  /** Throws ApiError 404. */
  async item(tenant: Tenant, conversationId: string, itemId: string): Promise<Item> {
    const item = await this.conversations.item(tenant, conversationId, itemId);
    if (isRefusal(item)) throw refuse(item, conversationId, itemId);
    return item;
  }

  /** Deletes an item and returns the conversation. Throws ApiError 404, and 400 `conversation_locked`. */
  async deleteItem(tenant: Tenant, conversationId: string, itemId: string): Promise<ConversationRecord> {
    const outcome = await this.conversations.deleteItem(tenant, conversationId, itemId);
    if ('refused' in outcome) throw refuse(outcome, conversationId, itemId);
    return outcome;
  }

  /** Items of a client in stored form, with ids and without references. */
  private async toStored(tenant: Tenant, items: readonly InputItem[]): Promise<readonly Item[]> {
    const added = await this.contexts.resolveReferences(tenant, toItems(items, this.ids), {}, 'items');
    const seen = new Set<string>();
    for (const { id } of added) {
      if (seen.has(id)) throw duplicateItem(id, 'items');
      seen.add(id);
    }
    return added;
  }
}

function found<T>(conversationId: string, value: T | undefined): T {
  if (value === undefined) throw ApiError.notFound('Conversation', conversationId);
  return value;
}

/** A client may have sent an item with a member `refused`, but not without a type. */
function isRefusal(answer: Item | { readonly refused: 'not_found' | 'item_not_found' }): answer is {
  readonly refused: 'not_found' | 'item_not_found';
} {
  return !('type' in answer);
}

function refuse(refusal: ConversationRefusal, conversationId: string, itemId = ''): ApiError {
  switch (refusal.refused) {
    case 'not_found':
      return ApiError.notFound('Conversation', conversationId);
    case 'item_not_found':
      return ApiError.notFound('Item', itemId);
    case 'locked':
      return conversationLocked(null);
    case 'duplicate_item':
      return duplicateItem(refusal.itemId, 'items');
  }
}
