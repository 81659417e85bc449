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
import type { InProcessLock } from '../in-process/locks.js';
import type { Page, PageRequest } from '../page.js';
import { conversationLock } from '../write-lock.js';
import { readItems } from '../stored-response.js';
import type { DatabaseThread } from './database-thread.js';
import { toTexts } from './to-new-response.js';

/**
 * Conversations in a file. Their locks are those of the process, which is asked for them when an operation is posted: what is
 * posted first is executed first.
 */
export class SqliteConversationStore extends ConversationStore {
  /** The deleted conversation that was looked at last. */
  private forgotten = 0;

  constructor(
    private readonly thread: DatabaseThread,
    private readonly locks: InProcessLock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override create(tenant: Tenant, record: ConversationRecord, items: readonly Item[]): Promise<void> {
    return this.thread.call('conversations.create', tenant, record, toTexts(items));
  }

  override get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined> {
    return this.thread.call('conversations.get', tenant, conversationId);
  }

  override update(
    tenant: Tenant,
    conversationId: string,
    metadata: ConversationRecord['metadata'],
  ): Promise<ConversationRecord | undefined> {
    return this.thread.call('conversations.update', tenant, conversationId, metadata);
  }

  override delete(tenant: Tenant, conversationId: string): Promise<boolean> {
    return this.thread.call('conversations.delete', tenant, conversationId);
  }

  override async open(
    tenant: Tenant,
    conversationId: string,
    { ttlMs, knownVersion }: OpenOptions,
  ): Promise<OpenedConversation | { readonly refused: 'not_found' | 'locked' }> {
    const lease = await this.locks.tryAcquire(tenant, conversationLock(conversationId), ttlMs);
    if (lease === undefined) {
      // A turn may have the lock of one that was deleted.
      const found = await this.get(tenant, conversationId);
      return { refused: found === undefined ? 'not_found' : 'locked' };
    }
    try {
      const context = await this.readSince(tenant, conversationId, knownVersion ?? null);
      if (context !== undefined) return { ...lease, ...context };
    } catch (error) {
      await lease.release();
      throw error;
    }
    await lease.release();
    return { refused: 'not_found' };
  }

  override read(tenant: Tenant, conversationId: string): Promise<ConversationContext | undefined> {
    return this.readSince(tenant, conversationId, null);
  }

  override append(
    tenant: Tenant,
    conversationId: string,
    items: readonly Item[],
  ): Promise<ConversationRefusal | undefined> {
    return this.change(tenant, conversationId, () =>
      this.thread.call('conversations.append', tenant, conversationId, toTexts(items)),
    );
  }

  override async items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const found = await this.thread.call('conversations.items', tenant, conversationId, page);
    return this.thread.readPage(found);
  }

  override async item(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }> {
    const found = await this.thread.call('conversations.item', tenant, conversationId, itemId);
    return typeof found === 'string' ? this.thread.decode(() => JSON.parse(found) as Item) : found;
  }

  override deleteItem(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationRecord | ConversationRefusal> {
    return this.change(tenant, conversationId, () =>
      this.thread.call('conversations.deleteItem', tenant, conversationId, itemId),
    );
  }

  /**
   * Looks at the next deleted conversations, and frees those that no response needs; false when it has looked at all of
   * them.
   */
  async forget(): Promise<boolean> {
    const next = await this.thread.call('conversations.forget', this.forgotten);
    this.forgotten = next ?? 0;
    return next !== undefined;
  }

  private async readSince(
    tenant: Tenant,
    conversationId: string,
    knownVersion: number | null,
  ): Promise<ConversationContext | undefined> {
    const found = await this.thread.call(
      'conversations.read',
      tenant,
      conversationId,
      knownVersion,
      this.maxContextBytes,
    );
    if (found === undefined) return undefined;
    const { version, items } = found;
    return { version, items: version === knownVersion ? null : this.thread.decode(() => readItems(items)) };
  }

  /** Changes the items while no turn runs; a turn whose lease has expired is lost then. */
  private async change<Outcome extends object | undefined>(
    tenant: Tenant,
    conversationId: string,
    change: () => Promise<Outcome>,
  ): Promise<Outcome | ConversationRefusal> {
    const lock = conversationLock(conversationId);
    if (this.locks.isLocked(tenant, lock)) {
      const found = await this.get(tenant, conversationId);
      return { refused: found === undefined ? 'not_found' : 'locked' };
    }
    const expired = this.locks.fenceOf(tenant, lock);
    const outcome = await change();
    const isChanged = outcome === undefined || !('refused' in outcome);
    if (expired !== undefined && isChanged) this.locks.release(tenant, lock, expired);
    return outcome;
  }
}
