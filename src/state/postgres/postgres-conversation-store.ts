import type { Item } from '../../protocol/index.js';
import {
  type ConversationContext,
  type ConversationRecord,
  type ConversationRefusal,
  ConversationStore,
  type OpenedConversation,
} from '../conversation-store.js';
import type { Page } from '../page.js';
import type { Database } from './database.js';

/** Conversations in PostgreSQL, for all replicas. */
export class PostgresConversationStore extends ConversationStore {
  constructor(private readonly database: Database) {
    super();
  }

  override create(): Promise<void> {
    return this.unbuilt();
  }

  override get(): Promise<ConversationRecord | undefined> {
    return this.unbuilt();
  }

  override update(): Promise<ConversationRecord | undefined> {
    return this.unbuilt();
  }

  override delete(): Promise<boolean> {
    return this.unbuilt();
  }

  override open(): Promise<OpenedConversation | { readonly refused: 'not_found' | 'locked' }> {
    return this.unbuilt();
  }

  override read(): Promise<ConversationContext | undefined> {
    return this.unbuilt();
  }

  override append(): Promise<ConversationRefusal | undefined> {
    return this.unbuilt();
  }

  override items(): Promise<Page<Item> | undefined> {
    return this.unbuilt();
  }

  override item(): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }> {
    return this.unbuilt();
  }

  override deleteItem(): Promise<ConversationRecord | ConversationRefusal> {
    return this.unbuilt();
  }

  private async unbuilt(): Promise<never> {
    throw new Error(`not built: ${typeof this.database}`);
  }
}
