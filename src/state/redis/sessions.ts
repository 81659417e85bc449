import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';

import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { isOutOfPlace, SessionFullError, StoreUnavailableError } from '../errors.js';
import { toKey } from '../keys.js';
import type { ResponseRecord } from '../response-store.js';
import { type ForkOutcome, type ForkRequest, SessionStore } from '../session-store.js';
import type { WriteLease } from '../write-lock.js';
import { listedFor } from './indexes.js';
import { slackOf } from './insertion.js';
import { membershipOf, type RedisKeys, sessionsOf } from './keys.js';
import { type List, type Listed, type ListedResponses, toBatches } from './listed-responses.js';
import type { RedisWriteLock } from './locks.js';
import type { Redis } from './redis.js';
import { FREES_MEMORY, run, LuaScript } from './script.js';
import { type GoneReply, HIDE, VISIBLE_TO_CALL } from './scripts/delete.js';
import { ENTER, ENTER_BELOW } from './scripts/indexes.js';
import { RESPONSES } from './scripts/responses.js';
import type { RedisTombstones } from './tombstones.js';

/**
 * Adds visible responses to a session.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the field of the session; from ARGV[3] on: ids. Returns the number of those
 * that are in it.
 */
const JOIN = new LuaScript(`${RESPONSES}
local joined = 0
for i = 3, #ARGV do
  if visible(ARGV[i], '') then
    redis.call('HSET', at(ARGV[i]), ARGV[2], 1)
    joined = joined + 1
  end
end
return joined`);

/** The reply of LEAVE: those that are gone, and all visible ones that were in the session. */
type LeaveReply = readonly [gone: GoneReply, left: readonly string[]];

/**
 * Takes responses out of a session, and hides those that belong to no other one.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the field of the session; ARGV[3]: names the call, so that its
 * repetition returns the same; from ARGV[4] on: ids. Returns a `LeaveReply`.
 */
const LEAVE = new LuaScript(`${FREES_MEMORY}${RESPONSES}${HIDE}${VISIBLE_TO_CALL}
local gone, left = {}, {}
for i = 4, #ARGV do
  local id = ARGV[i]
  if visibleTo(ARGV[3], id, ARGV[2]) then
    left[#left + 1] = id
    redis.call('HSET', at(id), 'by', ARGV[3])
    redis.call('HDEL', at(id), ARGV[2])
    if #memberships(id) == 0 then gone[#gone + 1] = hide(id, ARGV[2]) end
  end
end
return {gone, left}`);

/** A response that is about to be stored. */
type NewMember = Pick<ResponseRecord, 'response' | 'sessionId' | 'sessionLimit' | 'expiresAt'>;

/** The lock of all sessions of a tenant. It has spaces, which the name of a session cannot have. */
const ALL_SESSIONS = 'all sessions of the tenant';
/** How long it is held at most, ms. */
const TTL_MS = 30_000;
/** How long it is waited for at most, ms. */
const WAIT_MS = 10_000;
/** How long until it is asked for again, ms. */
const PAUSE_MS = 5;

const OLDEST_FIRST = { order: 'asc' } as const;

/**
 * Sessions of responses in Redis. A response says to which sessions it belongs; a session lists its responses in its own
 * slot. Forks and deletions of a tenant exclude each other.
 */
export class RedisSessionStore extends SessionStore {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly locks: RedisWriteLock,
    private readonly responses: ListedResponses,
    private readonly tombstones: RedisTombstones,
    private readonly clock: Clock,
  ) {
    super();
  }

  override fork(tenant: Tenant, request: ForkRequest): Promise<ForkOutcome> {
    const { sourceId, targetId, upToResponseId, limit, forkLimit } = request;
    return this.alone(tenant, async () => {
      const upTo = upToResponseId === undefined ? undefined : toKey(upToResponseId);
      const shared = await this.membersOf(tenant, sourceId, limit ?? Infinity, upTo);
      if (shared.length === 0) return { refused: 'source_not_found' };
      const source = this.listOf(tenant, sourceId);
      const last = upTo === undefined ? shared : await this.responses.confirm(tenant, source, [upTo]);
      if (last.length === 0) return { refused: 'response_not_found' };
      if (await this.hasAtLeast(tenant, targetId, 1)) return { refused: 'target_exists' };
      if (shared.length > (limit ?? Infinity)) return { refused: 'too_many_responses' };
      if (forkLimit !== undefined && (await this.forksOf(tenant, shared[0])) >= forkLimit) {
        return { refused: 'too_many_forks' };
      }
      await this.share(tenant, shared, sourceId, targetId);
      return { responses: shared.length };
    });
  }

  override delete(tenant: Tenant, sessionId: string): Promise<boolean> {
    return this.alone(tenant, async () => {
      const members = await this.membersOf(tenant, sessionId);
      const now = this.clock.now();
      const batches = toBatches(new Map(members.map(({ responseKey, slot }) => [responseKey, slot])));
      let left = 0;
      for (const { slot, ids } of batches) {
        const { base } = this.keys.slot(tenant, slot);
        const leave = run(LEAVE, [base], now, membershipOf(sessionId), randomUUID(), ...ids);
        const [reply] = await this.redis.write(leave, ['ZREM', this.keys.slot(tenant, sessionId).members, ...ids]);
        const [gone, changed] = reply as LeaveReply;
        left += changed.length;
        await this.tombstones.bury(tenant, slot, gone, changed);
      }
      return left > 0;
    });
  }

  /** Needs one round trip where the index shows too few responses. */
  override async hasAtLeast(tenant: Tenant, sessionId: string, responses: number): Promise<boolean> {
    const [count] = await this.redis.read(['ZCARD', this.keys.slot(tenant, sessionId).members]);
    if ((count as number) < responses) return false;
    return (await this.membersOf(tenant, sessionId, responses - 1)).length >= responses;
  }

  /**
   * Stores a response while it has a place in its session. Where that has a limit, the response is listed before it is stored, so that of
   * those that are stored at once no more get a place than there are. Throws SessionFullError.
   */
  async storing<T>(tenant: Tenant, member: NewMember, store: () => Promise<T>): Promise<T> {
    const { sessionId, sessionLimit: limit, response } = member;
    if (limit === undefined) return store();
    const index = this.keys.slot(tenant, sessionId).members;
    if (!(await this.enter(index, member, limit, []))) {
      // What has expired, was deleted or has left may still be listed. What is not stored may be about to be.
      const [listed] = (await this.redis.read(['ZRANGE', index, 0, -1])) as [readonly string[]];
      const { matching, missing } = await this.responses.match(tenant, listed, { within: membershipOf(sessionId) });
      const taken = new Set([...matching.map(({ responseKey: key }) => key), ...missing]);
      const gone = listed.filter((key) => !taken.has(key));
      if (!(await this.enter(index, member, limit, gone))) throw new SessionFullError(limit);
    }
    try {
      return await store();
    } catch (error) {
      if (isOutOfPlace(error)) await this.redis.write(['ZREM', index, toKey(response.id)]);
      throw error;
    }
  }

  private async enter(
    index: string,
    { response, expiresAt }: NewMember,
    limit: number,
    gone: readonly string[],
  ): Promise<boolean> {
    const now = this.clock.now();
    const ttl = listedFor({ expiresAt, slack: slackOf(expiresAt, now) }, now);
    const entry = [response.created_at, toKey(response.id)] as const;
    const [entered] = await this.redis.write(run(ENTER_BELOW, [index], limit, ttl, ...entry, ...gone));
    return entered === 1;
  }

  /** The visible responses of a session, oldest first, up to and including one of them and not many more than a number. */
  private async membersOf(
    tenant: Tenant,
    sessionId: string,
    limit = Infinity,
    upTo?: string,
  ): Promise<readonly Listed[]> {
    const members: Listed[] = [];
    for await (const batch of this.responses.walk(tenant, this.listOf(tenant, sessionId), OLDEST_FIRST)) {
      const end = batch.findIndex(({ responseKey }) => responseKey === upTo);
      members.push(...(end < 0 ? batch : batch.slice(0, end + 1)));
      if (end >= 0 || members.length > limit) break;
    }
    return members;
  }

  private listOf(tenant: Tenant, sessionId: string): List {
    return { index: this.keys.slot(tenant, sessionId).members, criteria: { within: membershipOf(sessionId) } };
  }

  /** How many sessions share a response with the one in which it was made. */
  private async forksOf(tenant: Tenant, response: Listed | undefined): Promise<number> {
    if (response === undefined) return 0;
    const key = `${this.keys.slot(tenant, response.slot).base}:r:${response.responseKey}`;
    const [fields, own] = await this.redis.read(['HKEYS', key], ['HGET', key, 'session']);
    return sessionsOf(fields as readonly string[]).filter((name) => JSON.stringify(name) !== own).length;
  }

  /** Has a session share responses: first they are listed, then they say so, each slot all at once. */
  private async share(tenant: Tenant, shared: readonly Listed[], sourceId: string, targetId: string): Promise<void> {
    const [source, target] = [this.keys.slot(tenant, sourceId).members, this.keys.slot(tenant, targetId).members];
    const batches = toBatches(new Map(shared.map(({ responseKey, slot }) => [responseKey, slot])));
    for (const { slot, ids } of batches) {
      const [ttl, scores] = await this.redis.read(['PTTL', source], ['ZMSCORE', source, ...ids]);
      const entries = ids.flatMap((id, index) => [(scores as readonly (string | null)[])[index] ?? 0, id]);
      const join = run(JOIN, [this.keys.slot(tenant, slot).base], this.clock.now(), membershipOf(targetId), ...ids);
      await this.redis.write(run(ENTER, [target], ttl as number, ...entries), join);
    }
  }

  /** Does something while nobody else forks or deletes sessions of the tenant. Throws StoreUnavailableError. */
  private async alone<T>(tenant: Tenant, action: () => Promise<T>): Promise<T> {
    const lease = await this.acquire(tenant);
    try {
      return await action();
    } finally {
      // A lease that is not released expires.
      await lease.release().catch(() => undefined);
    }
  }

  private async acquire(tenant: Tenant): Promise<WriteLease> {
    for (let waited = 0; waited <= WAIT_MS; waited += PAUSE_MS) {
      const lease = await this.locks.tryAcquire(tenant, ALL_SESSIONS, TTL_MS);
      if (lease !== undefined) return lease;
      await pause(PAUSE_MS);
    }
    throw new StoreUnavailableError('the sessions of the tenant are being changed');
  }
}
