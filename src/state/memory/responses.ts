import type { Tenant } from '../../access/index.js';
import { estimateBytes, type Item, type ResponseObject } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { ConversationChangedError, SessionFullError, WriteLockLostError } from '../errors.js';
import { pageOfItems, type PageRequest } from '../page.js';
import { type Chain, type DeleteOptions, type ResponseRecord, ResponseStore } from '../response-store.js';
import { conversationLock } from '../write-lock.js';
import type { InProcessLock } from '../in-process/locks.js';
import { withMetadata } from '../stored-response.js';
import { type NewEntry, turnEntries } from './conversation.js';
import type { MemoryEventLog } from './log.js';
import type { MemoryState } from './state.js';
import type { MemoryUsageStore } from './usage.js';
import {
  belongsTo,
  isContinuable,
  isInConversation,
  itemsOf,
  type Node,
  type NodeRun,
  sessionsOf,
  subtreeOf,
  transcriptOf,
} from './node.js';

/** Most responses freed at once, so that purging does not delay running turns. */
const PURGE_BATCH = 100;

/** Stores responses in memory. */
export class MemoryResponseStore extends ResponseStore {
  constructor(
    private readonly state: MemoryState,
    private readonly locks: InProcessLock,
    private readonly log: MemoryEventLog,
    private readonly usage: MemoryUsageStore,
    private readonly clock: Clock,
  ) {
    super();
  }

  override expectSave(): void {
    // Always available.
  }

  override save(tenant: Tenant, record: ResponseRecord): void | Promise<void> {
    if (this.state.has(tenant, record.response.id)) return;
    try {
      this.requireLock(tenant, record);
      this.requireRoom(tenant, record);
      const place = this.placeOf(tenant, record.conversation);
      const entries = this.entriesOf(place, record);
      this.add(tenant, record, null, place);
      this.enter(place, entries);
      if (record.usage !== undefined) this.usage.add(record.usage);
      this.releaseLock(tenant, record);
    } catch (error) {
      return rejected(error);
    }
  }

  override async get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const node = this.state.find(tenant, responseId, within);
    return node && this.log.show(node);
  }

  override async updateMetadata(
    ...[tenant, responseId, metadata, within]: Parameters<ResponseStore['updateMetadata']>
  ): Promise<ResponseObject | undefined> {
    const node = this.state.find(tenant, responseId, within);
    const response = withMetadata(node?.response, metadata);
    if (node === undefined || response === undefined) return undefined;
    this.state.grow(node, estimateBytes(metadata) - estimateBytes(node.response.metadata));
    node.response = response;
    return response;
  }

  override async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number> {
    const node = this.state.find(tenant, responseId, within);
    if (node === undefined) return 0;
    const doomed = subtreeOf(node, options.cascade).filter((member) => this.state.shows(member, within));
    this.state.delete(doomed);
    return doomed.length;
  }

  override async chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined> {
    const node = this.state.find(tenant, responseId, within);
    const status = node?.response.status;
    if (node === undefined || (status !== 'completed' && status !== 'incomplete')) return undefined;
    if (!isContinuable(node)) return undefined;
    return {
      responseId,
      items: transcriptOf(node),
      origin: node.origin,
      isInConversation: isInConversation(node),
      sessionId: sessionOf(node),
      expiresAt: node.expiresAt,
    };
  }

  override async inputItems(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const node = this.state.find(tenant, responseId, within);
    return node === undefined ? undefined : pageOfItems(node.input, page);
  }

  override async items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>> {
    const found = new Map<string, Item>();
    for (const id of ids) {
      const holder = this.state.holderOf(tenant, id, within);
      const item =
        holder === undefined
          ? this.itemOfConversations(tenant, id, within)
          : itemsOf(holder).find((candidate) => candidate.id === id);
      if (item !== undefined) found.set(id, item);
    }
    return found;
  }

  override async purge(): Promise<boolean> {
    this.state.purgeBookmarks();
    const now = this.clock.now();
    const expired: Node[] = [];
    for (const node of this.state.all()) {
      if (node.expiresAt <= now) expired.push(node);
      else if (node.run !== null) this.state.grow(node, -this.log.dropLog(node));
      if (expired.length === PURGE_BATCH) break;
    }
    this.state.delete(expired);
    return expired.length === PURGE_BATCH;
  }

  override async check(): Promise<void> {
    // Always available.
  }

  /** Releases the lock of a conversation to which a response was appended. */
  private releaseLock(tenant: Tenant, { conversation, fence }: ResponseRecord): void {
    if (conversation !== null && fence !== null) {
      this.locks.release(tenant, conversationLock(conversation.id), fence);
    }
  }

  /** Throws WriteLockLostError when the lock of a turn was lost. */
  requireLock(
    tenant: Tenant,
    { fence, conversation, sessionId }: Pick<ResponseRecord, 'fence' | 'conversation' | 'sessionId'>,
  ): void {
    const name = conversation === null ? sessionId : conversationLock(conversation.id);
    if (fence !== null && !this.locks.isHeld(tenant, name, fence)) throw new WriteLockLostError(name);
  }

  /** Throws SessionFullError when the session of a response has as many as it may have. */
  requireRoom(
    tenant: Tenant,
    { sessionId, sessionLimit = Infinity }: Pick<ResponseRecord, 'sessionId' | 'sessionLimit'>,
  ): void {
    if (sessionLimit === Infinity) return;
    const count = this.state.countInSession(tenant, sessionId, sessionLimit);
    if (count >= sessionLimit) throw new SessionFullError(sessionLimit);
  }

  /** Where the response stands in its conversation. Throws ConversationChangedError. */
  placeOf(tenant: Tenant, place: ResponseRecord['conversation']): Node['place'] {
    if (place === null) return null;
    const conversation = this.state.conversations.find(tenant, place.id);
    if (conversation?.version !== place.version) {
      throw new ConversationChangedError(place.id, conversation === undefined);
    }
    return { conversation, before: conversation.end };
  }

  /** What a turn appends to its conversation. Throws StoreUnavailableError when it does not fit. */
  entriesOf(place: Node['place'], turn: Parameters<typeof turnEntries>[0]): readonly NewEntry[] {
    if (place === null) return [];
    const entries = turnEntries(turn);
    this.state.expectAppend(place.conversation, entries);
    return entries;
  }

  /** Appends a turn to its conversation. */
  enter(place: Node['place'], entries: readonly NewEntry[]): void {
    // The conversation was dropped if it does not fit beside the response.
    if (place?.conversation.alive === true) this.state.appendTo(place.conversation, entries);
  }

  /** An item of a conversation; conversations belong to no session. */
  private itemOfConversations(tenant: Tenant, itemId: string, within: string | undefined): Item | undefined {
    return within === undefined ? this.state.conversations.findItem(tenant, itemId) : undefined;
  }

  /** Adds a response. Throws StoreUnavailableError when it does not fit. */
  add(tenant: Tenant, record: ResponseRecord, run: NodeRun | null, place: Node['place'] = null): Node {
    const { response, input, given, origin, parentId, sessionId, expiresAt } = record;
    const parent = parentId === null ? null : (this.state.find(tenant, parentId) ?? null);
    const inherited = parent === null ? record.inherited : [];
    const bytes = bytesOf(record, inherited);
    const node: Node = {
      id: response.id,
      createdAt: response.created_at,
      tenant,
      response,
      input,
      given,
      origin,
      parent,
      inherited,
      place,
      bytes,
      sessionId,
      expiresAt,
      children: undefined,
      sessions: undefined,
      alive: true,
      run,
    };
    this.state.add(node);
    return node;
  }
}

/** The estimated bytes of a response, with inherited items only when they are stored. */
export function bytesOf(
  { response, settingsBytes, input, given }: Pick<ResponseRecord, 'response' | 'settingsBytes' | 'input' | 'given'>,
  inherited: readonly Item[],
): number {
  const measured = settingsBytes === undefined ? response : response.output;
  return (settingsBytes ?? 0) + estimateBytes([measured, input, given, inherited]);
}

/** The session of a response or, if it left that one, another session that shares it. */
function sessionOf(node: Node): string {
  const { id, sessionId } = node;
  return belongsTo(node, sessionId) ? sessionId : ([...sessionsOf(node)].sort()[0] ?? id);
}

async function rejected(error: unknown): Promise<never> {
  throw error;
}
