import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../access/index.js';
import {
  type ConversationContext,
  type ConversationRecord,
  type ConversationRefusal,
  CONVERSATIONS_FORGOTTEN,
  type ConversationStore,
  openLocked,
} from '../conversation-store.js';
import { ContextTooLargeError, UnknownCursorError } from '../errors.js';
import type { InProcessLock } from '../in-process/locks.js';
import { toKey } from '../keys.js';
import { cursorOf, isForward, type Page, type PageRequest, toPage } from '../page.js';
import { readablePage } from '../readable-page.js';
import { itemsRecord, readConversationItem, readMetadata, type StoredItem } from '../stored-conversation.js';
import { readItems } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { ThreadGroup } from './executed.js';
import { type ItemText, toTexts } from './new-response.js';
import { bytesOf, turnAppending, turnInput } from './statements/turn-items.js';
import { bookmarking } from './statements/bookmarks.js';
import { tenantNumbers } from './statements/visible.js';

const CONVERSATIONS: number = CONVERSATIONS_FORGOTTEN.conversations;
const ITEMS: number = CONVERSATIONS_FORGOTTEN.items;

type Metadata = ConversationRecord['metadata'];

/** The items of a conversation, as `readItems` takes them. */
export interface ReadConversation {
  readonly version: number;
  /** Whether it has the version that the process knows. */
  readonly isKnown: boolean;
  readonly items: string | null;
}

interface Found {
  readonly created_at: number;
  /** JSON. */
  readonly metadata: string;
  readonly conversation: number;
  readonly owner: number;
  readonly version: number;
  readonly items_size: number;
}

/** Conversations in SQLite. Names are as clients send them. */
export function sqliteConversations(database: DatabaseSync, now: () => number, maxBytes: number) {
  const tenants = tenantNumbers(database);
  const appendItems = turnAppending(database);
  const { bookmarkItem, findItemBookmark, forgetItemBookmarks } = bookmarking(database);
  const select = database.prepare(
    `SELECT c.* FROM tenants t JOIN conversations c ON c.owner = t.owner WHERE t.key = ? AND c.id = ? AND c.is_deleted = 0`,
  );
  const insert = database.prepare(
    `INSERT INTO conversations (owner, id, created_at, metadata, version, end_position, items_size)
    VALUES (?, ?, ?, ?, 0, 0, 0) ON CONFLICT DO NOTHING`,
  );
  const setMetadata = database.prepare('UPDATE conversations SET metadata = ? WHERE conversation = ?');
  const hide = database.prepare('UPDATE conversations SET is_deleted = 1 WHERE conversation = ?');
  const allItems = database.prepare(
    `SELECT group_concat(body, ',' ORDER BY position) AS items FROM conversation_items WHERE conversation = ?`,
  );
  const hasItem = database.prepare(
    'SELECT 1 FROM conversation_items WHERE owner = ? AND key = ? AND conversation = ? LIMIT 1',
  );
  const shown = database.prepare(
    `SELECT position, body FROM conversation_items INDEXED BY conversation_items_by_key WHERE owner = ? AND key = ? AND conversation = ? AND is_given = 0
    ORDER BY position DESC LIMIT 1`,
  );
  const pages = {
    ASC: database.prepare(
      `SELECT key AS id, body FROM conversation_items WHERE conversation = ? AND is_given = 0 AND position > ?
      ORDER BY position`,
    ),
    DESC: database.prepare(
      `SELECT key AS id, body FROM conversation_items WHERE conversation = ? AND is_given = 0 AND position < ?
      ORDER BY position DESC`,
    ),
  };
  const deleteShown = database.prepare(
    `DELETE FROM conversation_items WHERE conversation = ? AND is_given = 0 AND position IN (
      SELECT position FROM conversation_items WHERE owner = ? AND key = ? AND conversation = ?
    ) RETURNING position, octet_length(body) AS size`,
  );
  const shrink = database.prepare(
    'UPDATE conversations SET version = version + 1, items_size = items_size - ? WHERE conversation = ?',
  );
  const deleted = database.prepare(
    'SELECT conversation FROM conversations WHERE is_deleted = 1 AND conversation > ? ORDER BY conversation LIMIT ?',
  );
  const needed = database.prepare('SELECT 1 FROM responses WHERE conversation = ? LIMIT 1');
  const freeItems = database.prepare(
    `DELETE FROM conversation_items WHERE conversation = ?1 AND position IN (
      SELECT position FROM conversation_items WHERE conversation = ?1 LIMIT ?2)`,
  );
  const free = database.prepare('DELETE FROM conversations WHERE conversation = ?');

  const find = (tenant: string, id: string): Found | undefined =>
    select.get(toKey(tenant), toKey(id)) as unknown as Found | undefined;
  const shownItem = ({ owner, conversation }: Found, key: string) =>
    shown.get(owner, key, conversation) as unknown as { readonly position: number; readonly body: string } | undefined;
  /** Frees up to so many items of a conversation that no response needs, then itself; returns how many items. */
  const forgetOne = (conversation: number, most: number): number => {
    if (needed.get(conversation) !== undefined) return 0;
    const freed = Number(freeItems.run(conversation, most).changes);
    if (freed < most) {
      forgetItemBookmarks(conversation);
      free.run(conversation);
    }
    return freed;
  };

  return {
    create: (tenant: string, record: ConversationRecord, items: readonly ItemText[]): void => {
      const { id, createdAt, metadata } = record;
      const owner = tenants.findOrCreate(tenant);
      if (insert.run(owner, toKey(id), createdAt, JSON.stringify(metadata)).changes === 0) return;
      appendItems(owner, { id, version: 0, omits: null }, turnInput(items), bytesOf(items));
    },

    get: (tenant: string, id: string): ConversationRecord | undefined => {
      const found = find(tenant, id);
      return found && toRecord(id, found);
    },

    update: (tenant: string, id: string, metadata: Metadata): ConversationRecord | undefined => {
      const found = find(tenant, id);
      if (found === undefined) return undefined;
      setMetadata.run(JSON.stringify(metadata), found.conversation);
      return { id, createdAt: found.created_at, metadata };
    },

    delete: (tenant: string, id: string): boolean => {
      const found = find(tenant, id);
      if (found === undefined) return false;
      hide.run(found.conversation);
      forgetOne(found.conversation, ITEMS);
      return true;
    },

    read: (tenant: string, id: string, knownVersion: number | null): ReadConversation | undefined => {
      const found = find(tenant, id);
      if (found === undefined) return undefined;
      const { version, items_size: size, conversation } = found;
      if (version === knownVersion) return { version, isKnown: true, items: null };
      if (size > maxBytes) throw new ContextTooLargeError(maxBytes, 'conversation');
      return { version, isKnown: false, items: allItems.get(conversation)?.['items'] as string | null };
    },

    /** Adds items of a client, none of which may be there already. */
    append: (tenant: string, id: string, items: readonly ItemText[]): ConversationRefusal | undefined => {
      const found = find(tenant, id);
      if (found === undefined) return { refused: 'not_found' };
      const { owner, conversation, version } = found;
      const duplicate = items.find((item) => hasItem.get(owner, toKey(item.id), conversation) !== undefined);
      if (duplicate !== undefined) return { refused: 'duplicate_item', itemId: duplicate.id };
      appendItems(owner, { id, version, omits: null }, turnInput(items), bytesOf(items));
      return undefined;
    },

    /** A page of the items that clients see; undefined when the conversation is not found. */
    items: (tenant: string, id: string, page: PageRequest): Page<StoredItem> | undefined => {
      const found = find(tenant, id);
      if (found === undefined) return undefined;
      const cursor = cursorOf(page);
      const isUp = isForward(page);
      const edge = isUp ? -1 : Number.MAX_SAFE_INTEGER;
      const position =
        cursor === undefined
          ? edge
          : (shownItem(found, cursor)?.position ?? findItemBookmark(found.conversation, cursor, now()));
      if (position === undefined) throw new UnknownCursorError(page);
      const rows = pages[isUp ? 'ASC' : 'DESC'].iterate(found.conversation, position);
      return toPage(rows as unknown as Iterable<StoredItem>, page, ({ body }) => Buffer.byteLength(body));
    },

    /** The latest item of an id that clients see, as JSON. */
    item: (
      tenant: string,
      id: string,
      itemId: string,
    ): string | { readonly refused: 'not_found' | 'item_not_found' } => {
      const found = find(tenant, id);
      if (found === undefined) return { refused: 'not_found' };
      return shownItem(found, toKey(itemId))?.body ?? { refused: 'item_not_found' };
    },

    deleteItem: (tenant: string, id: string, itemId: string): ConversationRecord | ConversationRefusal => {
      const found = find(tenant, id);
      if (found === undefined) return { refused: 'not_found' };
      const { owner, conversation } = found;
      const key = toKey(itemId);
      const gone = deleteShown.all(conversation, owner, key, conversation);
      if (gone.length === 0) return { refused: 'item_not_found' };
      bookmarkItem(conversation, key, Math.max(...gone.map((row) => Number(row['position']))), now());
      shrink.run(
        gone.reduce((size, row) => size + Number(row['size']), 0),
        conversation,
      );
      return toRecord(id, found);
    },

    /** Looks at the deleted conversations after one, and frees those that no response needs; where to go on, if there may be more. */
    forget: (after: number): number | undefined => {
      let freed = 0;
      const rows = deleted.all(after, CONVERSATIONS);
      for (const row of rows) {
        freed += forgetOne(Number(row['conversation']), ITEMS - freed);
        if (freed === ITEMS) return Number(row['conversation']) - 1;
      }
      return rows.length < CONVERSATIONS ? undefined : Number(rows.at(-1)?.['conversation']);
    },
  };
}

function toRecord(id: string, { created_at: createdAt, metadata }: Found): ConversationRecord {
  return { id, createdAt, metadata: readMetadata(metadata, id) };
}

/** Conversations for the process, which has the locks: it is asked for them when a call is sent, and what is sent first is executed first. */
export function conversationsOf(
  thread: ThreadGroup<ReturnType<typeof sqliteConversations>>,
  locks: InProcessLock,
): ConversationStore & { forget(): Promise<boolean> } {
  /** The deleted conversation that was looked at last. */
  let forgotten = 0;

  const { get, update, delete: remove } = thread.contract(['get', 'update', 'delete']);
  const readSince = async (
    tenant: Tenant,
    conversationId: string,
    knownVersion: number | null,
  ): Promise<ConversationContext | undefined> => {
    const found = await thread.call('read', tenant, conversationId, knownVersion);
    if (found === undefined) return undefined;
    const { version, isKnown, items } = found;
    return { version, items: isKnown ? null : readItems(items, itemsRecord(conversationId)) };
  };

  /** Changes the items while no turn runs; a turn whose lease has expired is lost then. */
  const change = async <Outcome extends object | undefined>(
    tenant: Tenant,
    conversationId: string,
    send: () => Promise<Outcome>,
  ): Promise<Outcome | ConversationRefusal> => {
    const lock = conversationLock(conversationId);
    if (locks.isLocked(tenant, lock)) {
      const found = await get(tenant, conversationId);
      return { refused: found === undefined ? 'not_found' : 'locked' };
    }
    const expired = locks.fenceOf(tenant, lock);
    const outcome = await send();
    const isChanged = outcome === undefined || !('refused' in outcome);
    if (expired !== undefined && isChanged) locks.release(tenant, lock, expired);
    return outcome;
  };

  return {
    create: (tenant, record, given) => thread.call('create', tenant, record, toTexts(given)),

    get,

    update,

    delete: remove,

    open: async (tenant, conversationId, { ttlMs, knownVersion }) => {
      const lease = await locks.tryAcquire(tenant, conversationLock(conversationId), ttlMs);
      if (lease === undefined) {
        // A turn may have the lock of one that was deleted.
        const found = await get(tenant, conversationId);
        return { refused: found === undefined ? 'not_found' : 'locked' };
      }
      return openLocked(lease, () => readSince(tenant, conversationId, knownVersion ?? null));
    },

    read: (tenant, conversationId) => readSince(tenant, conversationId, null),

    append: (tenant, conversationId, given) =>
      change(tenant, conversationId, () => thread.call('append', tenant, conversationId, toTexts(given))),

    items: (tenant, conversationId, page) =>
      readablePage(
        tenant,
        page,
        (asked) => thread.call('items', tenant, conversationId, asked),
        (row: StoredItem) => readConversationItem(row, conversationId),
      ),

    item: async (tenant, conversationId, itemId) => {
      const found = await thread.call('item', tenant, conversationId, itemId);
      return typeof found === 'string' ? readConversationItem({ id: itemId, body: found }, conversationId) : found;
    },

    deleteItem: (tenant, conversationId, itemId) =>
      change(tenant, conversationId, () => thread.call('deleteItem', tenant, conversationId, itemId)),

    /** Looks at the next deleted conversations, and frees those that no response needs; false when it has looked at all of them. */
    forget: async () => {
      const next = await thread.call('forget', forgotten);
      forgotten = next ?? 0;
      return next !== undefined;
    },
  };
}
