import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { parseJson } from '../../json.js';
import {
  type ConversationContext,
  type ConversationRecord,
  type ConversationRefusal,
  ConversationStore,
  type OpenedConversation,
  openLocked,
  type OpenOptions,
} from '../conversation-store.js';
import { ContextTooLargeError, DamagedRecordError, UnknownCursorError } from '../errors.js';
import { isForward, type Page, type PageRequest } from '../page.js';
import { readablePage } from '../readable-page.js';
import { itemsRecord, readConversationItem, readMetadata, type StoredItem } from '../stored-conversation.js';
import { readItem, readItems } from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { ConversationIndex } from './conversation-index.js';
import { conversationName, toEntries, toItemId } from './conversation-items.js';
import type { SlotKeys, RedisKeys } from './keys.js';
import type { KnownVersions } from './known-versions.js';
import type { RedisWriteLock } from './locks.js';
import type { Redis } from './redis.js';
import { pairsOf, run } from './script.js';
import {
  CONVERSATION_ITEM,
  CONVERSATION_ITEMS,
  type ConversationItem,
  type ConversationItems,
  DELETE_ITEM,
  type ItemDeleted,
} from './scripts/conversation-items.js';
import {
  APPEND_ITEMS,
  type Appended,
  type ConversationRead,
  CREATE_CONVERSATION,
  DELETE_CONVERSATION,
  READ_CONVERSATION,
  UPDATE_CONVERSATION,
} from './scripts/conversations.js';

/** Conversations in Redis, for all replicas. Each lies in the slot of its lock, with the responses that were made in it. */
export class RedisConversationStore extends ConversationStore {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly locks: RedisWriteLock,
    private readonly index: ConversationIndex,
    private readonly versions: KnownVersions,
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override async create(tenant: Tenant, record: ConversationRecord, items: readonly Item[]): Promise<void> {
    const { id, createdAt, metadata } = record;
    const about = [createdAt, JSON.stringify(metadata), conversationName(tenant, id)] as const;
    const create = run(CREATE_CONVERSATION, [this.slot(tenant, id).base], ...about, ...toEntries(items));
    await this.redis.write(create, ...this.index.addCommands(tenant, id, items, this.clock.now()));
  }

  override async get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined> {
    const { conversation } = this.slot(tenant, conversationId);
    const [found] = await this.redis.read(['HMGET', conversation, 'created', 'metadata', 'deleted']);
    const [created, metadata, deleted] = found as readonly (string | null)[];
    if (created == null || metadata == null || deleted !== null) return undefined;
    return toRecord(conversationId, created, metadata);
  }

  override async update(tenant: Tenant, conversationId: string, metadata: ConversationRecord['metadata']) {
    const { base } = this.slot(tenant, conversationId);
    const text = JSON.stringify(metadata);
    const [created] = await this.redis.write(run(UPDATE_CONVERSATION, [base], text));
    return created === null ? undefined : toRecord(conversationId, created as string, text);
  }

  override async delete(tenant: Tenant, conversationId: string): Promise<boolean> {
    const { base } = this.slot(tenant, conversationId);
    const [ids] = await this.redis.write(run(DELETE_CONVERSATION, [base], this.clock.now()));
    if (ids === null) return false;
    const itemIds = (ids as readonly string[]).map((id) => JSON.parse(id) as string);
    await this.index.remove(tenant, conversationId, itemIds);
    return true;
  }

  override async open(
    tenant: Tenant,
    conversationId: string,
    { ttlMs, knownVersion }: OpenOptions,
  ): Promise<OpenedConversation | { readonly refused: 'not_found' | 'locked' }> {
    const { base } = this.slot(tenant, conversationId);
    const change = knownVersion === undefined ? undefined : this.versions.changeOf(base, knownVersion);
    const known = change === undefined ? ['', ''] : [knownVersion ?? '', change];
    const args = [this.maxContextBytes, ttlMs, randomUUID(), ...known];
    const [reply] = await this.redis.write(run(READ_CONVERSATION, [base], ...args));
    const [outcome, version, latest, items, fence] = reply as ConversationRead;
    if (outcome === 'too_large') throw this.tooLarge();
    if (outcome !== 'read') return { refused: outcome };
    this.versions.learn(base, version, latest);
    const lease = this.locks.toLease(tenant, conversationLock(conversationId), Number(fence), ttlMs);
    const record = itemsRecord(conversationId);
    return openLocked(lease, async () => ({ version, items: items === null ? null : readItems(items, record) }));
  }

  override async read(tenant: Tenant, conversationId: string): Promise<ConversationContext | undefined> {
    const { base } = this.slot(tenant, conversationId);
    const [reply] = await this.redis.read(run(READ_CONVERSATION, [base], this.maxContextBytes));
    const [outcome, version, change, items] = reply as ConversationRead;
    if (outcome === 'too_large') throw this.tooLarge();
    if (outcome !== 'read') return undefined;
    this.versions.learn(base, version, change);
    return { version, items: readItems(items, itemsRecord(conversationId)) };
  }

  override async append(
    tenant: Tenant,
    conversationId: string,
    items: readonly Item[],
  ): Promise<ConversationRefusal | undefined> {
    const { base } = this.slot(tenant, conversationId);
    const now = this.clock.now();
    const append = run(APPEND_ITEMS, [base], randomUUID(), ...toEntries(items));
    // Along with their index, so that no process can die between the two and leave items that nobody can reference.
    const [reply] = await this.redis.write(append, ...this.index.addCommands(tenant, conversationId, items, now));
    const [outcome, duplicate] = reply as Appended;
    if (outcome === 'appended') return undefined;
    // Entries of the index do not expire: nobody else would remove those of refused items.
    await this.index.withdraw(tenant, conversationId, items, now);
    return outcome === 'duplicate_item'
      ? { refused: outcome, itemId: JSON.parse(duplicate) as string }
      : { refused: outcome };
  }

  override async items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined> {
    const found = await this.entries(tenant, conversationId, page);
    const record = itemsRecord(conversationId);
    try {
      return found && { ...found, data: found.data.map(({ body }) => readItem(body, record)) };
    } catch (error) {
      if (!(error instanceof DamagedRecordError)) throw error;
    }
    // An entry does not say the id of its item: only a damaged one has it looked up.
    const ask = (asked: PageRequest): Promise<Page<StoredItem> | undefined> =>
      this.namedEntries(tenant, conversationId, asked);
    const read = (row: StoredItem): Item => readConversationItem(row, conversationId);
    return readablePage(tenant, page, ask, read);
  }

  private async namedEntries(
    tenant: Tenant,
    conversationId: string,
    page: PageRequest,
  ): Promise<Page<StoredItem> | undefined> {
    const found = await this.entries(tenant, conversationId, page);
    const [reply] = await this.redis.read(['HGETALL', `${this.slot(tenant, conversationId).base}:item-ids`]);
    const idOf = idsByPosition(reply);
    return (
      found && { ...found, data: found.data.map(({ position, body }) => ({ id: idOf.get(position) ?? '', body })) }
    );
  }

  private async entries(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Entry> | undefined> {
    const { limit, after, before } = page;
    const cursor = after ?? before;
    const { base } = this.slot(tenant, conversationId);
    const command = isForward(page) ? 'XRANGE' : 'XREVRANGE';
    const args = [command, cursor === undefined ? '' : toItemId(cursor), limit, this.clock.now()];
    const [reply] = await this.redis.read(run(CONVERSATION_ITEMS, [base], ...args));
    const [outcome, hasMore, rows] = reply as ConversationItems;
    if (outcome === 'not_found') return undefined;
    if (outcome !== 'page') throw new UnknownCursorError(page);
    const data = rows.map(([position, body]) => ({ position, body }));
    return { data: before === undefined ? data : data.reverse(), hasMore: hasMore === 1 };
  }

  override async item(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }> {
    const { base } = this.slot(tenant, conversationId);
    const [reply] = await this.redis.read(run(CONVERSATION_ITEM, [base], toItemId(itemId)));
    const [outcome, text] = reply as ConversationItem;
    if (outcome === 'not_found') return { refused: outcome };
    return text === null
      ? { refused: 'item_not_found' }
      : readConversationItem({ id: itemId, body: text }, conversationId);
  }

  override async deleteItem(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationRecord | ConversationRefusal> {
    const { base } = this.slot(tenant, conversationId);
    const [reply] = await this.redis.write(run(DELETE_ITEM, [base], randomUUID(), toItemId(itemId), this.clock.now()));
    const [outcome, created, metadata] = reply as ItemDeleted;
    if (outcome !== 'deleted') return { refused: outcome };
    await this.index.remove(tenant, conversationId, [itemId]);
    return toRecord(conversationId, created, metadata);
  }

  private slot(tenant: Tenant, conversationId: string): SlotKeys {
    return this.keys.slot(tenant, conversationLock(conversationId));
  }

  private tooLarge(): ContextTooLargeError {
    return new ContextTooLargeError(this.maxContextBytes, 'conversation');
  }
}

/** An item that clients see. */
interface Entry {
  readonly position: string;
  /** JSON. */
  readonly body: string;
}

/** The ids of the items at each position, from the hash `:item-ids`. */
function idsByPosition(reply: unknown): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const [id, positions] of pairsOf(reply)) {
    for (const position of positions.split(' ')) ids.set(position, parseJson(id) as string);
  }
  return ids;
}

function toRecord(id: string, created: string, metadata: string): ConversationRecord {
  return { id, createdAt: Number(created), metadata: readMetadata(metadata, id) };
}
