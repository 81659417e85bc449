import type { Tenant } from '../../access/index.js';
import type { Item, Origin, ResponseObject } from '../../protocol/index.js';
import { WriteLockLostError } from '../errors.js';
import type { InProcessLock } from '../in-process/locks.js';
import type { Page, PageRequest } from '../page.js';
import { type Chain, type DeleteOptions, type ResponseRecord, ResponseStore } from '../response-store.js';
import { readItems, readResponse } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { DatabaseThread } from './database-thread.js';
import type { SqliteConversationStore } from './conversations.js';
import type { SqliteEventLog } from './log.js';
import type { SqliteTombstones } from './tombstones.js';
import { toNewResponse } from './to-new-response.js';

/** Stores responses in SQLite. */
export class SqliteResponseStore extends ResponseStore {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly locks: InProcessLock,
    private readonly tombstones: SqliteTombstones,
    private readonly log: SqliteEventLog,
    private readonly conversations: SqliteConversationStore,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override expectSave(): void | Promise<void> {
    return this.thread.checkIfInDoubt();
  }

  override async save(tenant: Tenant, record: ResponseRecord): Promise<void> {
    const isSaved = await this.insert(tenant, record, record.parentId);
    // The parent was never stored, or is gone: what came before is stored with the response.
    if (!isSaved) await this.insert(tenant, record, null);
  }

  override async get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const stored = await this.thread.call('responses.get', tenant, responseId, within);
    if (stored === undefined) return undefined;
    const response = this.thread.decode(() => readResponse(stored));
    if (response.status !== 'in_progress') return response;
    return { ...response, output: await this.log.finishedItems(tenant, responseId) };
  }

  override async delete(
    tenant: Tenant,
    responseId: string,
    { cascade }: DeleteOptions,
    within?: string,
  ): Promise<number> {
    const gone = await this.thread.call('responses.delete', tenant, responseId, cascade, within);
    await this.tombstones.bury(gone);
    return gone.numbers.length;
  }

  override async chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined> {
    const chain = await this.thread.call('responses.chain', tenant, responseId, this.maxContextBytes, within);
    if (chain === undefined) return undefined;
    return this.thread.decode(() => ({
      responseId,
      items: readItems(chain.items),
      origin: chain.origin === null ? null : (JSON.parse(chain.origin) as Origin),
      isInConversation: chain.isInConversation,
      sessionId: chain.sessionId ?? responseId,
      expiresAt: chain.expiresAt,
    }));
  }

  override async inputItems(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<Item> | undefined> {
    return this.thread.readPage(await this.thread.call('responses.inputItems', tenant, responseId, page, within));
  }

  override async items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>> {
    const found = await this.thread.call('responses.items', tenant, ids, this.maxContextBytes, within);
    return this.thread.decode(() => new Map([...found].map(([id, text]) => [id, JSON.parse(text) as Item])));
  }

  override async purge(): Promise<boolean> {
    const hasMoreResponses = await this.tombstones.sweep();
    const hasMoreLogs = await this.log.forget();
    return (await this.conversations.forget()) || hasMoreLogs || hasMoreResponses;
  }

  override async check(): Promise<void> {
    await this.thread.checkIfInDoubt();
    await this.thread.call('check.read');
  }

  /**
   * False, and nothing is saved, when the parent is not stored. The lock is checked as the record is sent: what others do with
   * the lock that they acquire later is executed later. Throws WriteLockLostError and ConversationChangedError.
   */
  private async insert(tenant: Tenant, record: ResponseRecord, parentId: string | null): Promise<boolean> {
    const { sessionId, conversation, fence } = record;
    const lock = conversation === null ? sessionId : conversationLock(conversation.id);
    if (fence !== null && !this.locks.isHeld(tenant, lock, fence)) {
      // The save of a turn releases the lock of its conversation: one that is repeated has it no more.
      const session =
        conversation === null ? undefined : await this.thread.call('runs.sessionOf', tenant, record.response.id);
      if (session !== undefined) return true;
      throw new WriteLockLostError(lock);
    }
    const outcome = await this.thread.call('responses.save', toNewResponse(tenant, record, parentId));
    if (outcome === 'unlinked') return false;
    if (conversation !== null && fence !== null) this.locks.release(tenant, lock, fence);
    return true;
  }
}
