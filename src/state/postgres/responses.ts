import type { Tenant } from '../../access/index.js';
import type { Item, ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import {
  ContextTooLargeError,
  ConversationChangedError,
  SessionFullError,
  UnknownCursorError,
  WriteLockLostError,
} from '../errors.js';
import { cursorOf, type Page, type PageRequest, toPage } from '../page.js';
import { type Chain, type DeleteOptions, type ResponseRecord, ResponseStore } from '../response-store.js';
import { readablePage } from '../readable-page.js';
import type { StoredItem } from '../stored-conversation.js';
import { conversationLock } from '../write-lock.js';
import {
  contextRecord,
  readItem,
  readItems,
  readOrigin,
  readResponse,
  responseRecord,
  toBody,
  withMetadata,
} from '../stored-response.js';
import { toKey } from '../keys.js';
import { toColumns, toLabelsColumn } from './columns.js';
import type { RunStatement } from '../sql/statement.js';
import type { Database } from './database.js';
import type { PostgresConversationStore } from './conversations.js';
import type { PostgresEventLog } from './log.js';
import { CHAIN, GET, inputItems, ITEMS, UPDATE_METADATA } from './statements/read.js';
import { IS_SAVED, SAVE, SAVE_IN_CONVERSATION } from './statements/save.js';
import { toUsageRow } from './usage.js';
import { DELETE, type PostgresTombstones } from './tombstones.js';
import { viewerOf } from './statements/visible.js';
import { GET_CONVERSATION } from './statements/conversations.js';

/** Stores responses in PostgreSQL, for all replicas. */
export class PostgresResponseStore extends ResponseStore {
  constructor(
    private readonly database: Database,
    private readonly tombstones: PostgresTombstones,
    private readonly conversations: PostgresConversationStore,
    private readonly log: PostgresEventLog,
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override expectSave(): void | Promise<void> {
    return this.database.checkIfInDoubt();
  }

  override async save(tenant: Tenant, record: ResponseRecord): Promise<void> {
    await this.insertWhole(this.database.repeatable, tenant, record);
  }

  override async get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const [row] = await this.database.repeatable(GET, [...viewerOf(tenant, this.clock, within), toKey(responseId)]);
    if (row === undefined) return undefined;
    const response = readResponse(row);
    if (response.status !== 'in_progress') return response;
    return { ...response, output: await this.log.finishedItems(tenant, responseId) };
  }

  override async updateMetadata(
    ...[tenant, responseId, metadata, within]: Parameters<ResponseStore['updateMetadata']>
  ): Promise<ResponseObject | undefined> {
    const response = withMetadata(await this.get(tenant, responseId, within), metadata);
    if (response === undefined) return undefined;
    const viewer = viewerOf(tenant, this.clock, within);
    const values = [toKey(responseId), toBody(response), toLabelsColumn(toKey(tenant), metadata)] as const;
    const rows = await this.database.repeatable(UPDATE_METADATA, [...viewer, ...values]);
    return rows.length === 0 ? undefined : response;
  }

  override async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number> {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), options.cascade] as const;
    const [row] = await this.database.query(DELETE, values);
    const ids = row?.ids ?? [];
    await this.tombstones.bury(toKey(tenant), ids);
    return ids.length;
  }

  override async chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined> {
    const values = [...viewerOf(tenant, this.clock, within), toKey(responseId), this.maxContextBytes] as const;
    const [row] = await this.database.repeatable(CHAIN, values);
    if (row === undefined) return undefined;
    if (row.too_large) throw new ContextTooLargeError(this.maxContextBytes, 'previous_response_id');
    const record = contextRecord(responseId);
    const { session_id: sessionId, expires_at: expiresAt } = row;
    return {
      responseId,
      items: [...readItems(row.earlier, record), ...readItems(row.items, record)],
      origin: readOrigin(row.origin, record),
      isInConversation: row.in_conversation,
      sessionId: sessionId ?? responseId,
      expiresAt: expiresAt.getTime(),
    };
  }

  override inputItems(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const ask = (asked: PageRequest): Promise<Page<StoredItem> | undefined> =>
      this.inputRows(tenant, responseId, asked, within);
    const read = ({ id, body }: StoredItem): Item =>
      readItem(body, `the input item ${id} of ${responseRecord(responseId)}`);
    return readablePage(tenant, page, ask, read);
  }

  private async inputRows(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within: string | undefined,
  ): Promise<Page<StoredItem> | undefined> {
    const rows = await this.database.repeatable(inputItems(page), [
      ...viewerOf(tenant, this.clock, within),
      toKey(responseId),
      cursorOf(page) ?? null,
      page.limit + 1,
    ]);
    if (rows[0]?.known !== true) return undefined;
    if (!rows[0].found) throw new UnknownCursorError(page);
    return toPage(
      rows.flatMap(({ id, body }) => (id === null || body === null ? [] : [{ id, body }])),
      page,
    );
  }

  override async items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>> {
    const idOfKey = new Map(ids.map((id) => [toKey(id), id]));
    const values = [...viewerOf(tenant, this.clock, within), [...idOfKey.keys()], this.maxContextBytes] as const;
    const found = new Map<string, Item>();
    for (const { item_key: key, body } of await this.database.repeatable(ITEMS, values)) {
      if (body === null) throw new ContextTooLargeError(this.maxContextBytes, 'input');
      found.set(idOfKey.get(key) ?? key, readItem(body, `the item ${key}`));
    }
    return found;
  }

  override async purge(): Promise<boolean> {
    const hasMoreLogs = await this.log.forget();
    const hasMoreResponses = await this.tombstones.sweep();
    return (await this.conversations.forget()) || hasMoreResponses || hasMoreLogs;
  }

  override async check(): Promise<void> {
    await this.database.check();
  }

  /** When the parent was never stored or was deleted meanwhile, the response is saved with its whole transcript. */
  async insertWhole(run: RunStatement, tenant: Tenant, record: ResponseRecord): Promise<void> {
    const isSaved = await this.insert(run, tenant, record, record.parentId);
    if (!isSaved) await this.insert(run, tenant, record, null);
  }

  /**
   * False, and nothing is saved, when the parent is not stored; a response of a conversation has none. Throws
   * WriteLockLostError, SessionFullError and ConversationChangedError.
   */
  private async insert(
    run: RunStatement,
    tenant: Tenant,
    record: ResponseRecord,
    parentId: string | null,
  ): Promise<boolean> {
    const { response, sessionId, sessionLimit, conversation } = record;
    const isRoot = parentId === null;
    const [owner, id] = [toKey(tenant), toKey(response.id)];
    const lock = conversation === null ? sessionId : conversationLock(conversation.id);
    const values = [
      owner,
      id,
      isRoot ? null : toKey(parentId),
      toKey(sessionId),
      ...toColumns(owner, record, isRoot ? record.inherited : []),
      toKey(lock),
      toUsageRow(record.usage),
      sessionLimit ?? null,
      new Date(this.clock.now()),
    ] as const;
    if (conversation === null) {
      const [row] = await run(SAVE, values);
      if (row?.leased !== true) throw new WriteLockLostError(lock);
      if (row.linked && !row.has_room) throw new SessionFullError(sessionLimit ?? 0);
      return row.linked;
    }
    const conversationId = toKey(conversation.id);
    const { version, omits } = conversation;
    const omitted = omits === undefined ? null : toKey(omits);
    const [row] = await run(SAVE_IN_CONVERSATION, [...values, conversationId, version, omitted]);
    if (row?.placed === true) return true;
    // Asked separately: a statement does not see what was stored while it waited, here its first attempt.
    const [saved] = await run(IS_SAVED, [owner, id, conversationId]);
    if (saved?.is_saved === true) return true;
    if (row?.has_room === false) throw new SessionFullError(sessionLimit ?? 0);
    throw row?.leased === true ? await changedConversation(run, owner, conversation.id) : new WriteLockLostError(lock);
  }
}

/** The error of a turn whose conversation is not as it has read it: changed, or deleted. */
export async function changedConversation(
  run: RunStatement,
  tenant: string,
  conversationId: string,
): Promise<ConversationChangedError> {
  const found = await run(GET_CONVERSATION, [tenant, toKey(conversationId)]);
  return new ConversationChangedError(conversationId, found.length === 0);
}
