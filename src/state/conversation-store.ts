import type { Tenant } from '../access/index.js';
import type { Item } from '../protocol/index.js';
import type { Page, PageRequest } from './page.js';
import type { WriteLease } from './write-lock.js';

/** A conversation without its items (protocol §1.2). */
export interface ConversationRecord {
  readonly id: string;
  /** Unix seconds. */
  readonly createdAt: number;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A conversation, and its version that a turn has read: each change of its items makes a new one. */
export interface ConversationPlace {
  readonly id: string;
  readonly version: number;
  /** The id of an input item that is not appended with the rest of its turn: its `compaction_trigger`. */
  readonly omits?: string | undefined;
}

/** What a turn appends of its input to its conversation: all but the item that its place omits. */
export function keptInput({
  input,
  conversation,
}: {
  readonly input: readonly Item[];
  readonly conversation: ConversationPlace | null;
}): readonly Item[] {
  const omitted = conversation?.omits;
  return omitted === undefined ? input : input.filter(({ id }) => id !== omitted);
}

/** The items of a conversation, oldest first, with those that were given to its models unseen by clients. */
export interface ConversationContext {
  readonly version: number;
  /** Null if the caller knows this version. */
  readonly items: readonly Item[] | null;
}

/** A conversation that is locked for a turn. */
export type OpenedConversation = ConversationContext & WriteLease;

/** What a turn gets of a conversation whose lock it has. When `read` finds nothing, or fails, the lock is released. */
export async function openLocked(
  lease: WriteLease,
  read: () => Promise<ConversationContext | undefined>,
): Promise<OpenedConversation | { readonly refused: 'not_found' }> {
  try {
    const context = await read();
    if (context !== undefined) return { ...lease, ...context };
  } catch (error) {
    await lease.release();
    throw error;
  }
  await lease.release();
  return { refused: 'not_found' };
}

/** How a conversation is opened. */
export interface OpenOptions {
  /** The lock expires so long after it was last renewed, ms. */
  readonly ttlMs: number;
  /** The version whose items the caller has; they are not read again. */
  readonly knownVersion?: number | undefined;
}

/** Why a change was refused. `duplicate_item`: an item with this id is in the conversation. */
export type ConversationRefusal =
  | { readonly refused: 'not_found' | 'locked' | 'item_not_found' }
  | { readonly refused: 'duplicate_item'; readonly itemId: string };

/** Most deleted conversations that a database looks at in one step, and most items that it frees. */
export const CONVERSATIONS_FORGOTTEN = { conversations: 1000, items: 10_000 } as const;

/**
 * Stores conversations and their items, which do not expire. Other tenants' conversations are not found. A turn appends to
 * its conversation with `ResponseStore.save` or `BackgroundRuns.finish`. Methods throw StoreUnavailableError when the backend is
 * unavailable.
 */
export abstract class ConversationStore {
  abstract create(tenant: Tenant, conversation: ConversationRecord, items: readonly Item[]): Promise<void>;

  abstract get(tenant: Tenant, conversationId: string): Promise<ConversationRecord | undefined>;

  /** Replaces the metadata; undefined when the conversation is not found. */
  abstract update(
    tenant: Tenant,
    conversationId: string,
    metadata: ConversationRecord['metadata'],
  ): Promise<ConversationRecord | undefined>;

  /**
   * Deletes a conversation, which is not found from then on; false when it was not found. Its items stay as the context
   * of responses that were made in it. A turn that runs in it is not saved.
   */
  abstract delete(tenant: Tenant, conversationId: string): Promise<boolean>;

  /**
   * Takes the lock of a conversation (`conversationLock`) and reads its items, in one round trip. Throws
   * ContextTooLargeError, and then holds no lock.
   */
  abstract open(
    tenant: Tenant,
    conversationId: string,
    options: OpenOptions,
  ): Promise<OpenedConversation | { readonly refused: 'not_found' | 'locked' }>;

  /** Reads the items without the lock; undefined when the conversation is not found. Throws ContextTooLargeError. */
  abstract read(tenant: Tenant, conversationId: string): Promise<ConversationContext | undefined>;

  /** Adds items of a client; undefined when they were added. Refused while a turn runs. */
  abstract append(
    tenant: Tenant,
    conversationId: string,
    items: readonly Item[],
  ): Promise<ConversationRefusal | undefined>;

  /** The items that clients see; undefined when the conversation is not found. Throws UnknownCursorError. */
  abstract items(tenant: Tenant, conversationId: string, page: PageRequest): Promise<Page<Item> | undefined>;

  /** An item that clients see. */
  abstract item(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<Item | { readonly refused: 'not_found' | 'item_not_found' }>;

  /** Deletes an item that clients see, also from the context of responses. Refused while a turn runs. */
  abstract deleteItem(
    tenant: Tenant,
    conversationId: string,
    itemId: string,
  ): Promise<ConversationRecord | ConversationRefusal>;
}
