import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import type { Item, Origin, ResponseObject } from '../../protocol/index.js';
import { type Clock, isPromise } from '../../time/index.js';
import { ContextTooLargeError, WriteLockLostError } from '../errors.js';
import { toKey } from '../keys.js';
import { pageOfItems } from '../page-of-items.js';
import type { Page, PageRequest } from '../page.js';
import { type Chain, type DeleteOptions, type ResponseRecord, ResponseStore } from '../response-store.js';
import { readItems, readResponse } from '../stored-response.js';
import type { ConversationIndex } from './conversation-index.js';
import type { RedisConversationTurns } from './conversation-turns.js';
import { HeldItems } from './held-items.js';
import { indexCommands } from './indexes.js';
import { insertionArgs, toInsertion } from './insertion.js';
import type { RedisKeys } from './keys.js';
import { toTexts } from './listed-responses.js';
import type { Locators } from './locators.js';
import type { RedisWriteLock } from './locks.js';
import type { RedisEventLog } from './log.js';
import { sessionOf, withinOf } from './membership.js';
import type { Redis } from './redis.js';
import { run, type Script } from './script.js';
import { DELETE, type GoneReply } from './scripts/delete.js';
import { CHAIN, type ChainReply, INPUT, type InputReply, READ, type ReadReply } from './scripts/read.js';
import { SAVE, type Saved } from './scripts/save.js';
import type { SessionMembers } from './session-members.js';
import type { StoredItems } from './stored-items.js';
import type { Tombstones } from './tombstones.js';
import type { RedisUsageStore } from './usage.js';

/** The parts of Redis that know the rest about responses. */
export interface ResponseParts {
  readonly locators: Locators;
  readonly locks: RedisWriteLock;
  readonly tombstones: Tombstones;
  readonly items: StoredItems;
  readonly log: RedisEventLog;
  readonly turns: RedisConversationTurns;
  readonly members: SessionMembers;
  readonly conversations: ConversationIndex;
  readonly usage: RedisUsageStore;
}

/**
 * Stores responses in Redis, for all replicas. A response lies in the place of its chain (`RedisKeys`): a save is one
 * round trip, and so is what is read of a response whose place is remembered; otherwise it is two.
 */
export class RedisResponseStore extends ResponseStore {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly parts: ResponseParts,
    private readonly clock: Clock,
    private readonly maxContextBytes: number,
  ) {
    super();
  }

  override expectSave(): void | Promise<void> {
    return this.redis.checkIfInDoubt();
  }

  override save(tenant: Tenant, record: ResponseRecord): Promise<void> {
    return this.parts.members.storing(tenant, record, () => this.store(tenant, record));
  }

  override async get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const replies = (await this.ask(READ, tenant, responseId, within)) as readonly ReadReply[] | undefined;
    const [reply] = replies ?? [];
    if (reply == null) return undefined;
    const response = readResponse(toTexts(reply));
    if (response.status !== 'in_progress') return response;
    return { ...response, output: await this.parts.log.finishedItems(tenant, responseId) };
  }

  override async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number> {
    const lock = await this.parts.locators.find(tenant, responseId);
    if (lock === undefined) return 0;
    const { base } = this.keys.place(tenant, lock);
    const args = [withinOf(within), toKey(responseId), options.cascade ? 1 : 0, randomUUID()];
    const [reply] = await this.redis.write(run(DELETE, [base], this.clock.now(), ...args));
    const gone = reply as GoneReply;
    await this.parts.tombstones.bury(tenant, lock, gone);
    return gone.length;
  }

  override async chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined> {
    const reply = (await this.ask(CHAIN, tenant, responseId, within, this.maxContextBytes)) as ChainReply | undefined;
    if (reply == null) return undefined;
    const [texts, origin, expiresAt, isInConversation, ...memberships] = reply;
    if (texts === null) throw new ContextTooLargeError(this.maxContextBytes, 'previous_response_id');
    const [sessionId] = memberships.map(sessionOf).sort();
    return {
      responseId,
      items: readItems(texts),
      origin: origin === null ? null : (JSON.parse(origin) as Origin),
      isInConversation: isInConversation === 1,
      sessionId: sessionId ?? responseId,
      expiresAt: Number(expiresAt),
    };
  }

  override async inputItems(
    tenant: Tenant,
    responseId: string,
    page: PageRequest,
    within?: string,
  ): Promise<Page<Item> | undefined> {
    const reply = (await this.ask(INPUT, tenant, responseId, within)) as InputReply | undefined;
    return reply == null ? undefined : pageOfItems(readItems(reply), page);
  }

  override async items(tenant: Tenant, ids: readonly string[], within?: string): Promise<ReadonlyMap<string, Item>> {
    const found = await this.parts.items.find(tenant, ids, within);
    const rest = ids.filter((id) => !found.has(id));
    // Conversations belong to no session.
    if (rest.length === 0 || within !== undefined) return found;
    return new Map([...found, ...(await this.parts.conversations.find(tenant, rest, this.clock.now()))]);
  }

  override async purge(): Promise<boolean> {
    const hasMoreLogs = await this.parts.log.forget();
    return (await this.parts.tombstones.sweep()) || hasMoreLogs;
  }

  override check(): Promise<void> {
    return this.redis.check();
  }

  /** When the parent was never stored or was freed meanwhile, the response is saved with its whole transcript. */
  private async store(tenant: Tenant, record: ResponseRecord): Promise<void> {
    const { conversation, parentId, sessionId } = record;
    if (conversation !== null) return this.parts.turns.save(tenant, record, conversation);
    const found = parentId === null ? undefined : this.parts.locators.find(tenant, parentId);
    // Not awaited if it is known: saves are sent in the order of their calls, and then the parent is stored first.
    const place = isPromise(found) ? await found : found;
    const lock = place ?? sessionId;
    const isSaved = await this.insert(tenant, record, place === undefined ? null : parentId, lock);
    if (!isSaved) await this.insert(tenant, record, null, lock);
  }

  /**
   * Stores a response in the place of a lock, in one round trip; false, and it is not stored, when the parent is not stored.
   * Throws WriteLockLostError.
   */
  private async insert(
    tenant: Tenant,
    record: ResponseRecord,
    parentId: string | null,
    lock: string,
  ): Promise<boolean> {
    const { response, input, sessionId, fence } = record;
    const isHere = sessionId === lock;
    // The lock of a session lies in the place of that, which is another one for what continues a chain of somewhere else.
    if (fence !== null && !isHere && !(await this.parts.locks.pin(tenant, sessionId, fence))) {
      throw new WriteLockLostError(sessionId);
    }
    const now = this.clock.now();
    const held = new HeldItems(tenant, { input, output: response.output });
    const insertion = toInsertion(tenant, record, parentId, now, held.fields);
    const args = [now, isHere && fence !== null ? fence : '', ...insertionArgs(insertion, lock)];
    // Remembered at once, for saves that continue it before this one is answered.
    this.parts.locators.know(tenant, response.id, lock);
    const counting = this.parts.usage.commands(record.usage);
    const replies = await this.redis.write(
      // First: no response is stored without its usage.
      ...counting,
      run(SAVE, [this.keys.place(tenant, lock).base], ...args),
      ...indexCommands(this.keys, tenant, lock, insertion, now),
      ...held.enter(this.keys, insertion, now),
    );
    const saved = replies[counting.length];
    if ((saved as Saved) === 'lost') throw new WriteLockLostError(sessionId);
    return (saved as Saved) === 'saved';
  }

  /** The reply of a script about a response in its place; undefined when it is not stored anywhere. */
  private async ask(
    script: Script,
    tenant: Tenant,
    responseId: string,
    within: string | undefined,
    ...args: readonly (string | number)[]
  ): Promise<unknown> {
    const found = this.parts.locators.find(tenant, responseId);
    const lock = isPromise(found) ? await found : found;
    if (lock === undefined) return undefined;
    const { base } = this.keys.place(tenant, lock);
    const about = [this.clock.now(), withinOf(within), toKey(responseId)] as const;
    const [reply] = await this.redis.read(run(script, [base], ...about, ...args));
    return reply;
  }
}
