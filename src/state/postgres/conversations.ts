import { Logger } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { OutageLog } from '../../logging/index.js';
import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import {
  type ConversationContext,
  type ConversationRecord,
  type ConversationRefusal,
  CONVERSATIONS_FORGOTTEN,
  ConversationStore,
  openLocked,
  type OpenedConversation,
  type OpenOptions,
} from '../conversation-store.js';
import { ContextTooLargeError, UnknownCursorError } from '../errors.js';
import { toKey } from '../keys.js';
import { cursorOf, type Page, PAGE_BYTES, type PageRequest } from '../page.js';
import { directionOf } from '../sql/pages.js';
import { prepared, type Statement } from '../sql/statement.js';
import { readablePage } from '../readable-page.js';
import { itemsRecord, readConversationItem, readMetadata, type StoredItem } from '../stored-conversation.js';
import { bytesOf, readItems } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { Database } from './database.js';
import type { PostgresWriteLock } from './locks.js';
import {
  APPEND_ITEMS,
  type ConversationRow,
  CREATE_CONVERSATION,
  DELETE_CONVERSATION,
  DELETE_ITEM,
  FORGET_CONVERSATION,
  FORGET_CONVERSATIONS,
  GET_CONVERSATION,
  OPEN_CONVERSATION,
  READ_CONVERSATION,
  UPDATE_CONVERSATION,
} from './statements/conversations.js';

type Names = readonly [tenant: string, conversationId: string];

const VISIBLE_ITEMS = `FROM antiphon.conversation_items i WHERE i.owner = $1 AND i.conversation_id = $2 AND NOT i.is_given`;

/** The beginnings of the list in both orders. */
const EDGES = { ASC: '-1', DESC: '9223372036854775807' } as const;

/** An item of the page; an empty page is one row without an item. No row: the conversation is not found. */
interface ConversationItemRow {
  /** Whether the list has the cursor, or had it until it was deleted. */
  readonly found: boolean;
  readonly position: string | null;
  readonly id: string | null;
  /** Null when the page is full. */
  readonly body: string | null;
}

/** A page of a conversation's items plus one, in order from the cursor. */
function conversationItems(
  request: Pick<PageRequest, 'order' | 'before'>,
): Statement<readonly [...Names, cursor: string | null, limit: number, now: Date], ConversationItemRow> {
  const [comparison, direction] = directionOf(request);
  return prepared(
    `conversation_items_${direction.toLowerCase()}`,
    `WITH cursor AS MATERIALIZED (
      SELECT coalesce(
        (SELECT i.position ${VISIBLE_ITEMS} AND i.item_key = $3 ORDER BY i.position DESC LIMIT 1),
        (SELECT b.position FROM antiphon.item_bookmarks b
          WHERE b.owner = $1 AND b.conversation_id = $2 AND b.item_key = $3 AND b.expires_at > $5)
      ) AS position
    ), page AS (
      SELECT i.position, i.item_key, i.body ${VISIBLE_ITEMS}
        AND i.position ${comparison} coalesce((SELECT position FROM cursor), ${EDGES[direction]})
      ORDER BY i.position ${direction} LIMIT $4
    ), weighed AS (
      SELECT position, item_key, body, sum(octet_length(body)) OVER (ORDER BY position ${direction}) AS total,
        row_number() OVER (ORDER BY position ${direction}) AS place
      FROM page
    )
    SELECT $3::text IS NULL OR EXISTS (SELECT FROM cursor WHERE position IS NOT NULL) AS found, weighed.position,
      weighed.item_key AS id,
      CASE WHEN place = 1 OR total <= ${PAGE_BYTES} THEN weighed.body END AS body
    FROM antiphon.conversations c LEFT JOIN weighed ON true
    WHERE c.owner = $1 AND c.id = $2 AND NOT c.is_deleted
    ORDER BY weighed.position ${direction}`,
  );
}

/** An item; without a body when it is not there. */
const CONVERSATION_ITEM = prepared<readonly [...Names, itemKey: string], { readonly body: string | null }>(
  'conversation_item',
  `SELECT (SELECT i.body ${VISIBLE_ITEMS} AND i.item_key = $3 ORDER BY i.position DESC LIMIT 1) AS body
  FROM antiphon.conversations c WHERE c.owner = $1 AND c.id = $2 AND NOT c.is_deleted`,
);

const { conversations: CONVERSATIONS, items: ITEMS } = CONVERSATIONS_FORGOTTEN;
const BEGINNING = ['', ''] as const;

/** Conversations in PostgreSQL, for all replicas (docs/decisions/2026-11-22-conversations.md). */
export class PostgresConversationStore extends ConversationStore {
  private readonly outages = new OutageLog(new Logger('Conversations'));
  /** The deleted conversation that was looked at last. */
  private position: readonly [owner: string, id: string] = BEGINNING;

  constructor(
    private readonly database: Database,
    private readonly locks: PostgresWriteLock,
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override async create(tenant: Tenant, record: ConversationRecord, items: readonly Item[]): Promise<void> {
    const { id, createdAt, metadata } = record;
    const about = [new Date(createdAt * 1000), JSON.stringify(metadata)] as const;
    await this.database.repeatable(CREATE_CONVERSATION, [...namesOf(tenant, id), ...about, ...toColumns(items)]);
  }

  override async get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined> {
    const [row] = await this.database.repeatable(GET_CONVERSATION, namesOf(tenant, conversationId));
    return row && toRecord(conversationId, row);
  }

  override async update(tenant: Tenant, conversationId: string, metadata: ConversationRecord['metadata']) {
    const values = [...namesOf(tenant, conversationId), JSON.stringify(metadata)] as const;
    const [row] = await this.database.repeatable(UPDATE_CONVERSATION, values);
    return row && toRecord(conversationId, row);
  }

  override async delete(tenant: Tenant, conversationId: string): Promise<boolean> {
    const names = namesOf(tenant, conversationId);
    const rows = await this.database.query(DELETE_CONVERSATION, names);
    if (rows.length === 0) return false;
    await this.database.query(FORGET_CONVERSATION, [...names, ITEMS]).catch((error: unknown) => {
      this.outages.warn('deleted conversations will be freed later', String(error));
    });
    return true;
  }

  override async open(
    tenant: Tenant,
    conversationId: string,
    { ttlMs, knownVersion }: OpenOptions,
  ): Promise<OpenedConversation | { readonly refused: 'not_found' | 'locked' }> {
    const names = namesOf(tenant, conversationId);
    const lock = conversationLock(conversationId);
    const values = [...names, toKey(lock), ttlMs, knownVersion ?? null, this.maxContextBytes] as const;
    const [row] = await this.database.query(OPEN_CONVERSATION, values);
    if (row === undefined) return { refused: 'not_found' };
    if (row.too_large) throw this.tooLarge();
    if (row.fence === null) return { refused: 'locked' };
    const lease = this.locks.toLease(tenant, lock, Number(row.fence), ttlMs);
    const version = Number(row.version);
    if (row.latest === row.version) {
      const record = itemsRecord(conversationId);
      return openLocked(lease, async () => {
        return { version, items: version === knownVersion ? null : readItems(row.items, record) };
      });
    }
    return openLocked(lease, () => this.read(tenant, conversationId));
  }

  override async read(tenant: Tenant, conversationId: string): Promise<ConversationContext | undefined> {
    const values = [...namesOf(tenant, conversationId), this.maxContextBytes] as const;
    const [row] = await this.database.repeatable(READ_CONVERSATION, values);
    if (row === undefined) return undefined;
    if (row.too_large) throw this.tooLarge();
    return { version: Number(row.version), items: readItems(row.items, itemsRecord(conversationId)) };
  }

  override async append(
    tenant: Tenant,
    conversationId: string,
    items: readonly Item[],
  ): Promise<ConversationRefusal | undefined> {
    const lock = toKey(conversationLock(conversationId));
    const values = [...namesOf(tenant, conversationId), lock, ...toColumns(items)] as const;
    for (;;) {
      const [row] = await this.database.query(APPEND_ITEMS, values);
      if (row === undefined) return { refused: 'not_found' };
      if (row.is_locked) return { refused: 'locked' };
      if (row.duplicate !== null) {
        const duplicate = items.find(({ id }) => toKey(id) === row.duplicate);
        return { refused: 'duplicate_item', itemId: duplicate?.id ?? row.duplicate };
      }
      if (!row.is_held) return { refused: 'locked' };
      if (row.is_changed) return undefined;
    }
  }

  override items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const ask = (asked: PageRequest): Promise<Page<StoredItem> | undefined> =>
      this.itemRows(tenant, conversationId, asked);
    const read = (row: StoredItem): Item => readConversationItem(row, conversationId);
    return readablePage(tenant, page, ask, read);
  }

  private async itemRows(
    tenant: Tenant,
    conversationId: string,
    page: PageRequest,
  ): Promise<Page<StoredItem> | undefined> {
    const { limit, before } = page;
    const values = [
      ...namesOf(tenant, conversationId),
      cursorOf(page) ?? null,
      limit + 1,
      new Date(this.clock.now()),
    ] as const;
    const rows = await this.database.repeatable(conversationItems(page), values);
    if (rows[0] === undefined) return undefined;
    if (!rows[0].found) throw new UnknownCursorError(page);
    const found = rows.filter(({ position }) => position !== null);
    const data = found.slice(0, limit).flatMap(({ id, body }) => (id === null || body === null ? [] : [{ id, body }]));
    return { data: before === undefined ? data : data.reverse(), hasMore: found.length > data.length };
  }

  override async item(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }> {
    const values = [...namesOf(tenant, conversationId), toKey(itemId)] as const;
    const [row] = await this.database.repeatable(CONVERSATION_ITEM, values);
    if (row === undefined) return { refused: 'not_found' };
    return row.body === null
      ? { refused: 'item_not_found' }
      : readConversationItem({ id: itemId, body: row.body }, conversationId);
  }

  override async deleteItem(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationRecord | ConversationRefusal> {
    const lock = toKey(conversationLock(conversationId));
    const values = [...namesOf(tenant, conversationId), lock, toKey(itemId), new Date(this.clock.now())] as const;
    for (;;) {
      const [row] = await this.database.query(DELETE_ITEM, values);
      if (row === undefined) return { refused: 'not_found' };
      if (row.is_locked) return { refused: 'locked' };
      if (!row.is_there) return { refused: 'item_not_found' };
      if (!row.is_held) return { refused: 'locked' };
      if (row.is_changed) return toRecord(conversationId, row);
    }
  }

  /**
   * Looks at the next deleted conversations, and frees those that no response needs. False when the others may wait: there
   * are no more, or only such as are needed.
   */
  async forget(): Promise<boolean> {
    const [row] = await this.database.query(FORGET_CONVERSATIONS, [...this.position, ITEMS, CONVERSATIONS]);
    if (row === undefined || row.has_more_items) return row !== undefined;
    const hasMore = row.seen === CONVERSATIONS;
    this.position = hasMore ? [row.owner ?? '', row.id ?? ''] : BEGINNING;
    return hasMore && row.unneeded > 0;
  }

  private tooLarge(): ContextTooLargeError {
    return new ContextTooLargeError(this.maxContextBytes, 'conversation');
  }
}

function namesOf(tenant: Tenant, conversationId: string): readonly [tenant: string, conversationId: string] {
  return [toKey(tenant), toKey(conversationId)];
}

/** Items as columns, and their bytes. */
function toColumns(
  items: readonly Item[],
): readonly [keys: readonly string[], bodies: readonly string[], size: number] {
  const bodies = items.map((item) => JSON.stringify(item));
  return [items.map(({ id }) => toKey(id)), bodies, bytesOf(bodies)];
}

function toRecord(id: string, { created_at: createdAt, metadata }: ConversationRow): ConversationRecord {
  return {
    id,
    createdAt: createdAt.getTime() / 1000,
    metadata: readMetadata(metadata, id),
  };
}
