import { setImmediate } from 'node:timers/promises';

import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import type {
  ConversationContext,
  ConversationPlace,
  ConversationStore,
  OpenedConversation,
  ResponseRecord,
  StateBackend,
} from '../../state/index.js';
import { LEASE_MS, message, type RecordParts, recordOf, START } from './records.js';

/** Creates a conversation with messages. */
export async function createConversation(
  { conversations }: StateBackend,
  tenant: Tenant,
  id: string,
  ...itemIds: readonly string[]
): Promise<void> {
  const record = { id, createdAt: START / 1000, metadata: { kind: 'secret' } };
  await conversations.create(
    tenant,
    record,
    itemIds.map((itemId) => message(itemId)),
  );
}

/** Opens a conversation that is free. */
export async function openConversation(
  { conversations }: StateBackend,
  tenant: Tenant,
  id: string,
  knownVersion?: number,
): Promise<OpenedConversation> {
  const opened = await conversations.open(tenant, id, { ttlMs: LEASE_MS, knownVersion });
  if ('refused' in opened) throw new Error(`the conversation ${id} is ${opened.refused}`);
  return opened;
}

/** What a turn of an opened conversation says of its response. */
export function partsIn(
  id: string,
  { version, fence }: Pick<OpenedConversation, 'version' | 'fence'>,
): RecordParts & {
  readonly conversation: ConversationPlace;
  readonly fence: number;
} {
  return { conversation: { id, version }, fence };
}

/** A whole turn: opens the conversation, saves a response with the items of `recordOf`, and releases the lock. */
export async function turnIn(
  backend: StateBackend,
  tenant: Tenant,
  conversationId: string,
  responseId: string,
  parts: RecordParts = {},
): Promise<ResponseRecord> {
  const opened = await openConversation(backend, tenant, conversationId);
  const record = recordOf(responseId, { ...parts, ...partsIn(conversationId, opened) });
  await backend.responses.save(tenant, record);
  await opened.release();
  return record;
}

/** A turn that is repeated while another one has the conversation, or something was written in between. */
export async function turnWhenFree(
  backend: StateBackend,
  tenant: Tenant,
  conversationId: string,
  responseId: string,
): Promise<void> {
  for (;;) {
    const opened = await backend.conversations.open(tenant, conversationId, { ttlMs: LEASE_MS });
    if (!('refused' in opened)) {
      await backend.responses.save(tenant, recordOf(responseId, partsIn(conversationId, opened)));
      return opened.release();
    }
    if (opened.refused === 'not_found') throw new Error(`there is no conversation ${conversationId}`);
    await setImmediate();
  }
}

/** The ids of what a turn of a conversation sees. */
export async function seenIn(
  { conversations }: StateBackend,
  tenant: Tenant,
  id: string,
): Promise<readonly string[] | undefined> {
  return idsOf(await conversations.read(tenant, id));
}

/** The ids of what clients see of a conversation, page by page. */
export async function listedIn(
  conversations: ConversationStore,
  tenant: Tenant,
  id: string,
  { limit = 100, order = 'asc' }: { readonly limit?: number; readonly order?: 'asc' | 'desc' } = {},
): Promise<readonly string[] | undefined> {
  const ids: string[] = [];
  for (;;) {
    const after = ids.at(-1);
    const page = await conversations.items(tenant, id, { limit, order, ...(after === undefined ? {} : { after }) });
    if (page === undefined) return undefined;
    ids.push(...page.data.map((item: Item) => item.id));
    if (!page.hasMore) return ids;
  }
}

/** The ids of the items of a context. */
export function idsOf(context: ConversationContext | undefined): readonly string[] | undefined {
  return context?.items?.map(({ id }) => id);
}
