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
import type { Clock } from '../../time/index.js';
import { ContextTooLargeError, UnknownCursorError } from '../errors.js';
import type { InProcessLock } from '../in-process/locks.js';
import { isForward, type Page, type PageRequest } from '../page.js';
import { conversationLock } from '../write-lock.js';
import { readItems } from '../stored-response.js';
import type { DatabaseThread } from './database-thread.js';
import type { ConversationRow } from './operations/conversations.js';
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
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override create(tenant: Tenant, record: ConversationRecord, items: readonly Item[]): Promise<void> {
    const { id, createdAt, metadata } = record;
    const row = { created_at: createdAt, metadata: JSON.stringify(metadata) };
    return this.thread.call('createConversation', tenant, id, row, toTexts(items));
  }

  override async get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined> {
    const row = await this.thread.call('findConversation', tenant, conversationId);
    return row && this.toRecord(conversationId, row);
  }

  override async update(
    tenant: Tenant,
    conversationId: string,
    metadata: ConversationRecord['metadata'],
  ): Promise<ConversationRecord | undefined> {
    const row = await this.thread.call('updateConversation', tenant, conversationId, JSON.stringify(metadata));
    return row && this.toRecord(conversationId, row);
  }

  override delete(tenant: Tenant, conversationId: string): Promise<boolean> {
    return this.thread.call('deleteConversation', tenant, conversationId);
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

  override async append(
    tenant: Tenant,
    conversationId: string,
    items: readonly Item[],
  ): Promise<ConversationRefusal | undefined> {
    const outcome = await this.change(
      tenant,
      conversationId,
      () => this.thread.call('addToConversation', tenant, conversationId, toTexts(items)),
      (result) => result === 'added',
    );
    if (outcome === 'locked') return { refused: 'locked' };
    if (outcome === 'not found') return { refused: 'not_found' };
    if (outcome === 'added') return undefined;
    return { refused: 'duplicate_item', itemId: outcome.duplicate };
  }

  override async items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const cursor = page.after ?? page.before;
    const outcome = await this.thread.call(
      'conversationPage',
      tenant,
      conversationId,
      cursor ?? null,
      isForward(page) ? 'ASC' : 'DESC',
      page.limit,
      this.clock.now(),
    );
    if (outcome === 'not found') return undefined;
    if (outcome === 'no cursor') throw new UnknownCursorError(page);
    const data = this.thread.decode(() => outcome.bodies.map((body) => JSON.parse(body) as Item));
    return { data: page.before === undefined ? data : data.reverse(), hasMore: outcome.hasMore };
  }

  override async item(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }> {
    const body = await this.thread.call('conversationItem', tenant, conversationId, itemId);
    if (body === undefined) return { refused: 'not_found' };
    if (body === null) return { refused: 'item_not_found' };
    return this.thread.decode(() => JSON.parse(body) as Item);
  }

  override async deleteItem(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationRecord | ConversationRefusal> {
    const outcome = await this.change(
      tenant,
      conversationId,
      () => this.thread.call('deleteConversationItem', tenant, conversationId, itemId, this.clock.now()),
      (result) => typeof result === 'object',
    );
    if (outcome === 'locked') return { refused: 'locked' };
    if (outcome === 'not found') return { refused: 'not_found' };
    if (outcome === 'item not found') return { refused: 'item_not_found' };
    return this.toRecord(conversationId, outcome);
  }

  /**
   * Looks at the next deleted conversations, and frees those that no response needs; false when it has looked at all of
   * them.
   */
  async forget(): Promise<boolean> {
    const next = await this.thread.call('forgetConversations', this.forgotten);
    this.forgotten = next ?? 0;
    return next !== undefined;
  }

  private async readSince(
    tenant: Tenant,
    conversationId: string,
    knownVersion: number | null,
  ): Promise<ConversationContext | undefined> {
    const found = await this.thread.call(
      'readConversation',
      tenant,
      conversationId,
      knownVersion,
      this.maxContextBytes,
    );
    if (found === undefined) return undefined;
    const { version, isTooLarge, items } = found;
    if (isTooLarge) throw new ContextTooLargeError(this.maxContextBytes, 'conversation');
    return { version, items: version === knownVersion ? null : this.thread.decode(() => readItems(items)) };
  }

  /** Changes the items while no turn runs; a turn whose lease has expired is lost then. */
  private async change<Outcome>(
    tenant: Tenant,
    conversationId: string,
    change: () => Promise<Outcome>,
    isChanged: (outcome: Outcome) => boolean,
  ): Promise<Outcome | 'locked' | 'not found'> {
    const lock = conversationLock(conversationId);
    if (this.locks.isLocked(tenant, lock)) {
      const found = await this.get(tenant, conversationId);
      return found === undefined ? 'not found' : 'locked';
    }
    const expired = this.locks.fenceOf(tenant, lock);
    const outcome = await change();
    if (expired !== undefined && isChanged(outcome)) this.locks.release(tenant, lock, expired);
    return outcome;
  }
  private toRecord(id: string, { created_at: createdAt, metadata: text }: ConversationRow): ConversationRecord {
    const metadata = this.thread.decode(() => JSON.parse(text) as ConversationRecord['metadata']);
    return { id, createdAt, metadata };
  }
}
