import type { Item } from '../protocol/index.js';
import type { ConversationRecord } from './conversation-store.js';
import { readRecord } from './read-record.js';
import { readItem } from './stored-response.js';

/** An item of a page, as databases store it. */
export interface StoredItem {
  /** As of `toKey`. */
  readonly id: string;
  /** JSON. */
  readonly body: string;
}

/** How damage in a conversation is named. */
export function conversationRecord(id: string): string {
  return `/v1/conversations/${id}`;
}

/** How damage in the items of a conversation is named, where it is not known in which of them it is. */
export function itemsRecord(conversationId: string): string {
  return `the list of items of ${conversationRecord(conversationId)}`;
}

/** Parses the metadata of a conversation. Throws DamagedRecordError. */
export function readMetadata(text: string, conversationId: string): ConversationRecord['metadata'] {
  return readRecord(text, conversationRecord(conversationId));
}

/** Parses an item of a conversation. Throws DamagedRecordError. */
export function readConversationItem({ id, body }: StoredItem, conversationId: string): Item {
  return readItem(body, `${conversationRecord(conversationId)}/items/${id}`);
}
