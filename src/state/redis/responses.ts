import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import type { Item, ResponseObject } from '../../protocol/index.js';
import { type Clock, isPromise } from '../../time/index.js';
import type { ConversationPlace } from '../conversation-store.js';
import { ContextTooLargeError, WriteLockLostError } from '../errors.js';
import { toKey, toLabels } from '../keys.js';
import { pageOfItems, type PageRequest } from '../page.js';
import { type Chain, type DeleteOptions, type ResponseRecord, ResponseStore } from '../response-store.js';
import {
  contextRecord,
  readItems,
  readOrigin,
  readResponse,
  responseRecord,
  toBody,
  withMetadata,
} from '../stored-response.js';
import { conversationLock } from '../write-lock.js';
import type { ConversationIndex } from './conversation-index.js';
import { shownItems, toTurnEntries } from './conversation-items.js';
import { toTurnError, type TurnRefusal } from './errors.js';
import { indexCommands } from './indexes.js';
import { insertionArgs, toInsertion } from './insertion.js';
import { HeldItems, type ItemIndex } from './item-index.js';
import { type RedisKeys, sessionOf, withinOf } from './keys.js';
import type { KnownVersions } from './known-versions.js';
import type { ListedResponses } from './listed-responses.js';
import type { RedisWriteLock } from './locks.js';
import type { RedisEventLog } from './log.js';
import type { Redis } from './redis.js';
import type { ResponseSlots } from './response-slots.js';
import { type Argument, type Command, run, LuaScript } from './script.js';
import { DELETE, type GoneReply } from './scripts/delete.js';
import { LOCKS } from './scripts/locks.js';
import { CHAIN, type ChainReply, INPUT, type InputReply } from './scripts/read.js';
import { RESPONSES } from './scripts/responses.js';
import type { RedisSessionStore } from './sessions.js';
import type { RedisTombstones } from './tombstones.js';
import type { RedisUsageStore } from './usage.js';

/** What became of a save: `lost`, the lease; `unlinked`, the response that it continues is not stored. */
type Saved = 'saved' | 'lost' | 'unlinked';

/**
 * Stores a response, if the lease is the latest and the response that it continues is stored. One that is
 * stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the fence of the slot's lock, empty when there is none to check;
 * from ARGV[3] on: the insertion. Returns `Saved`.
 */
const SAVE = new LuaScript(`${LOCKS}${RESPONSES}
local r = insertionAt(3)
if exists(r.id) then return 'saved' end
if ARGV[2] ~= '' and not hasLock(base, ARGV[2]) then return 'lost' end
if not linked(r) then return 'unlinked' end
insert(r)
return 'saved'`);

/**
 * Stores a response that was made in a conversation in the slot of that, appends its turn and releases the lock; nothing, if
 * the turn is refused. A response that is stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the fence of the conversation's lock, empty when there is none to check; ARGV[3]: the
 * version that the turn has read; from ARGV[4] on: the insertion, then the entries. Returns a `TurnRefusal`, or nil.
 */
const SAVE_TURN = new LuaScript(`${LOCKS}${RESPONSES}
local r, next = insertionAt(4)
if exists(r.id) then return nil end
local refusal = turnRefusal(base, ARGV[2], ARGV[3])
if refusal then return refusal end
insert(r)
redis.call('HSET', at(r.id), addTurn(base, r.id, entriesFrom(next)))
keepConversation(base, tonumber(redis.call('HGET', at(r.id), 'until')), now)
releaseLock(base, ARGV[2])
return nil`);

/**
 * Replaces the body of a visible response with an answer, and the labels by which it is found.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: within; ARGV[4]: the body; ARGV[5]: labels, with blanks in between. Returns
 * 1, or nil.
 */
const UPDATE_METADATA = new LuaScript(`${RESPONSES}
local key = at(ARGV[2])
if not visible(ARGV[2], ARGV[3]) then return nil end
local status = redis.call('HGET', key, 'status')
if status ~= 'completed' and status ~= 'incomplete' then return nil end
redis.call('HINCRBY', key, 'size', #ARGV[4] - redis.call('STRLEN', key .. ':body'))
redis.call('SET', key .. ':body', ARGV[4], 'KEEPTTL')
if ARGV[5] == '' then redis.call('HDEL', key, 'labels') else redis.call('HSET', key, 'labels', ARGV[5]) end
return 1`);

/** The parts of Redis that know the rest about responses. */
interface ResponseParts {
  readonly slots: ResponseSlots;
  readonly locks: RedisWriteLock;
  readonly tombstones: RedisTombstones;
  readonly listed: ListedResponses;
  readonly items: ItemIndex;
  readonly log: RedisEventLog;
  readonly versions: KnownVersions;
  readonly sessions: RedisSessionStore;
  readonly conversations: ConversationIndex;
  readonly usage: RedisUsageStore;
}

/**
 * Stores responses in Redis, for all replicas. A response lies in the slot of its chain (`RedisKeys`): a save is one
 * round trip, and so is what is read of a response whose slot is remembered; otherwise it is two.
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
    return this.parts.sessions.storing(tenant, record, () => this.store(tenant, record));
  }

  override async get(tenant: Tenant, responseId: string, within?: string): Promise<ResponseObject | undefined> {
    const located = await this.parts.slots.locate(tenant, responseId);
    if (located === undefined) return undefined;
    const [stored] = await this.parts.listed.read(tenant, [located], withinOf(within));
    const response = stored && readResponse(stored);
    if (response?.status !== 'in_progress') return response;
    return { ...response, output: await this.parts.log.finishedItems(tenant, responseId) };
  }

  override async updateMetadata(
    ...[tenant, responseId, metadata, within]: Parameters<ResponseStore['updateMetadata']>
  ): Promise<ResponseObject | undefined> {
    const located = await this.parts.slots.locate(tenant, responseId);
    const response = located && withMetadata(await this.get(tenant, responseId, within), metadata);
    if (located === undefined || response === undefined) return undefined;
    const args = [withinOf(within), toBody(response), toLabels(tenant, metadata ?? {}).join(' ')];
    const [reply] = await this.redis.write(this.keys.call(located, UPDATE_METADATA, this.clock.now(), ...args));
    return reply === null ? undefined : response;
  }

  override async delete(tenant: Tenant, responseId: string, options: DeleteOptions, within?: string): Promise<number> {
    const located = await this.parts.slots.locate(tenant, responseId);
    if (located === undefined) return 0;
    const args = [withinOf(within), options.cascade ? 1 : 0, randomUUID()];
    const [reply] = await this.redis.write(this.keys.call(located, DELETE, this.clock.now(), ...args));
    const gone = reply as GoneReply;
    await this.parts.tombstones.bury(tenant, located.slot, gone);
    return gone.length;
  }

  override async chain(tenant: Tenant, responseId: string, within?: string): Promise<Chain | undefined> {
    const args = [withinOf(within), this.maxContextBytes];
    const reply = (await this.parts.slots.ask(tenant, responseId, CHAIN, ...args)) as ChainReply | undefined;
    if (reply == null) return undefined;
    const [texts, origin, expiresAt, isInConversation, ...memberships] = reply;
    if (texts === null) throw new ContextTooLargeError(this.maxContextBytes, 'previous_response_id');
    const [sessionId] = memberships.map(sessionOf).sort();
    const record = contextRecord(responseId);
    return {
      responseId,
      items: readItems(texts, record),
      origin: readOrigin(origin, record),
      isInConversation: isInConversation === 1,
      sessionId: sessionId ?? responseId,
      expiresAt: Number(expiresAt),
    };
  }

  override async inputItems(tenant: Tenant, responseId: string, page: PageRequest, within?: string) {
    const reply = (await this.parts.slots.ask(tenant, responseId, INPUT, withinOf(within))) as InputReply | undefined;
    return reply == null ? undefined : pageOfItems(readItems(reply, responseRecord(responseId)), page);
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
    if (conversation !== null) return this.saveTurn(tenant, record, conversation);
    const found = parentId === null ? undefined : this.parts.slots.find(tenant, parentId);
    // Not awaited if it is known: saves are sent in the order of their calls, and then the parent is stored first.
    const known = isPromise(found) ? await found : found;
    const slot = known ?? sessionId;
    const isSaved = await this.insert(tenant, record, known === undefined ? null : parentId, slot);
    if (!isSaved) await this.insert(tenant, record, null, slot);
  }

  /**
   * Stores a response in a slot, in one round trip; false, and it is not stored, when the parent is not stored.
   * Throws WriteLockLostError.
   */
  private async insert(
    tenant: Tenant,
    record: ResponseRecord,
    parentId: string | null,
    slot: string,
  ): Promise<boolean> {
    const { response, sessionId, fence } = record;
    const isHere = sessionId === slot;
    // The lock of a session lies in the slot of that, which is another one for what continues a chain of somewhere else.
    if (fence !== null && !isHere && !(await this.parts.locks.pin(tenant, sessionId, fence))) {
      throw new WriteLockLostError(sessionId);
    }
    // Remembered at once, for saves that continue it before this one is answered.
    this.parts.slots.know(tenant, response.id, slot);
    const saved = await this.send(tenant, record, parentId, slot, SAVE, [isHere && fence !== null ? fence : '']);
    if ((saved as Saved) === 'lost') throw new WriteLockLostError(sessionId);
    return (saved as Saved) === 'saved';
  }

  /**
   * Saves a response in the slot of its conversation, where it is the first of its chain, and appends its turn, in one round trip.
   * Throws WriteLockLostError and ConversationChangedError.
   */
  private async saveTurn(tenant: Tenant, record: ResponseRecord, { id, version }: ConversationPlace): Promise<void> {
    const { conversations, slots, versions } = this.parts;
    const { response, fence } = record;
    const now = this.clock.now();
    const slot = conversationLock(id);
    const shown = shownItems(record);
    const found = conversations.addCommands(tenant, id, shown, now);
    const args = [fence ?? '', version];
    const refusal = await this.send(tenant, record, null, slot, SAVE_TURN, args, toTurnEntries(record), found);
    if (refusal !== null) {
      await conversations.withdraw(tenant, id, shown, now);
      throw toTurnError(refusal as TurnRefusal, id);
    }
    versions.learn(this.keys.slot(tenant, slot).base, version + 1, toKey(response.id));
    slots.know(tenant, response.id, slot);
  }

  /** The reply of a script that stores a response, which is sent with what counts and finds it. `last`: arguments after the response. */
  private async send(
    tenant: Tenant,
    record: ResponseRecord,
    parentId: string | null,
    slot: string,
    script: LuaScript,
    first: readonly Argument[],
    last: readonly Argument[] = [],
    more: readonly Command[] = [],
  ): Promise<unknown> {
    const { keys } = this;
    const now = this.clock.now();
    const { response, input } = record;
    const held = new HeldItems(tenant, { input, output: response.output });
    const insertion = toInsertion(tenant, record, parentId, now, held.fields);
    const counting = this.parts.usage.commands(record.usage);
    const replies = await this.redis.write(
      // First: no response is stored without its usage.
      ...counting,
      run(script, [keys.slot(tenant, slot).base], now, ...first, ...insertionArgs(insertion, slot), ...last),
      ...indexCommands(keys, tenant, slot, insertion, now),
      ...held.enter(keys, insertion, now),
      ...more,
    );
    return replies[counting.length];
  }
}
