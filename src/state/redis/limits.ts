import {
  type Change,
  type Counted,
  DEBT_MS,
  type Holder,
  LIMIT_WINDOW_MS,
  type LookedAt,
  SharedLimits,
  type Standing,
  type Take,
} from '../shared-limits.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, NUMBERS, run, LuaScript } from './script.js';

/**
 * The counters at KEYS[1]: `requests` and `tokens` of the window that ends at `ends`, and for each replica a field `open:<replica>` with
 * its places and until when they count, both ms since the epoch. Time is that of Redis; it goes on after the script was called.
 */
const COUNTERS = `${NUMBERS}
local now = serverTime()
local counted = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'ends')
local requests, tokens, ends = tonumber(counted[1] or 0), tonumber(counted[2] or 0), tonumber(counted[3] or 0)
local isOver = ends <= now
local function windows() return 1 + math.floor((now - ends) / ${LIMIT_WINDOW_MS}) end
-- As carriedTokens.
local function carried(limit)
  if limit == 0 or now - ends >= ${DEBT_MS} then return 0 end
  return math.max(0, tokens - limit * windows())
end
local function writeWindow()
  redis.call('HSET', KEYS[1], 'requests', whole(requests), 'tokens', whole(tokens), 'ends', whole(ends))
end
local function ownPlaces(replica)
  local places, till = (redis.call('HGET', KEYS[1], 'open:' .. replica) or '0 0'):match('^(%d+) (%d+)$')
  return tonumber(till) > now and tonumber(places) or 0
end
local function setPlaces(replica, places, lease)
  if places > 0 then redis.call('HSET', KEYS[1], 'open:' .. replica, whole(places) .. ' ' .. whole(now + lease))
  else redis.call('HDEL', KEYS[1], 'open:' .. replica) end
end
-- Removes those of replicas that have died.
local function allPlaces()
  local sum, all = 0, redis.call('HGETALL', KEYS[1])
  for index = 1, #all, 2 do
    if all[index]:sub(1, 5) == 'open:' then
      local places, till = all[index + 1]:match('^(%d+) (%d+)$')
      if tonumber(till) > now then sum = sum + tonumber(places) else redis.call('HDEL', KEYS[1], all[index]) end
    end
  end
  return sum
end
local function keep() redis.call('PEXPIRE', KEYS[1], ${DEBT_MS + LIMIT_WINDOW_MS}) end
`;

/**
 * Takes requests, tokens and places if there is room for all.
 *
 * KEYS: 1 counters. ARGV: 1 requests, 2 their limit (0: none), 3 tokens, 4 their limit, 5 places, 6 their limit, 7 replica, 8 lease, ms.
 * Returns whether they were taken, requests, tokens, places, and how long the window lasts, ms.
 */
const TAKE_LIMITS = new LuaScript(`${COUNTERS}local more, most = {}, {}
for index = 1, 3 do more[index], most[index] = tonumber(ARGV[2 * index - 1]), tonumber(ARGV[2 * index]) end
local resets = ends
if isOver then
  if ends > 0 then resets = ends + windows() * ${LIMIT_WINDOW_MS} end
  tokens = carried(most[2])
  requests = 0
end
local places = more[3] == 0 and 0 or allPlaces()
local function fits(index, count) return more[index] == 0 or most[index] == 0 or count + more[index] <= most[index] end
local admitted = fits(1, requests) and fits(2, tokens) and fits(3, places)
if admitted then
  if more[1] > 0 or more[2] > 0 then
    if isOver then resets = now + ${LIMIT_WINDOW_MS} end
    requests, tokens, ends = requests + more[1], tokens + more[2], resets
    writeWindow()
  end
  if more[3] > 0 then
    setPlaces(ARGV[7], ownPlaces(ARGV[7]) + more[3], ARGV[8])
    places = places + more[3]
  end
  keep()
end
return {admitted and 1 or 0, requests, tokens, places, math.max(0, resets - now)}`);

/**
 * The counters as they stand.
 *
 * KEYS: 1 counters. ARGV: 1 the limit of tokens. Returns requests, tokens, places, and how long the window lasts, ms.
 */
const READ_LIMITS = new LuaScript(`${COUNTERS}if isOver then requests, tokens = 0, carried(tonumber(ARGV[1])) end
return {requests, tokens, allPlaces(), math.max(0, ends - now)}`);

/**
 * Changes counters.
 *
 * KEYS: 1 counters. ARGV: 1 tokens, 2 their limit, 3 places, 4 replica, 5 lease, ms.
 */
const SETTLE_LIMITS = new LuaScript(`${COUNTERS}local used, places = tonumber(ARGV[1]), tonumber(ARGV[3])
if isOver and used > 0 then
  requests, tokens, ends = 0, carried(tonumber(ARGV[2])) + used, now + ${LIMIT_WINDOW_MS}
  writeWindow()
elseif not isOver then
  tokens = math.max(0, tokens + used)
  writeWindow()
end
if places ~= 0 then setPlaces(ARGV[4], ownPlaces(ARGV[4]) + places, ARGV[5]) end
keep()
return 1`);

/**
 * Extends the places of a replica that still count.
 *
 * KEYS: 1 counters. ARGV: 1 replica, 2 lease, ms. Returns its places.
 */
const RENEW_LIMITS = new LuaScript(`${COUNTERS}local places = ownPlaces(ARGV[1])
setPlaces(ARGV[1], places, ARGV[2])
if places > 0 then keep() end
return places`);

/**
 * Counters of limits in Redis, for all replicas. A command that is repeated because its connection broke may count twice. All go to the
 * primaries with `read`, also those that write: nobody waits for replicas of Redis to confirm a count.
 */
export class RedisLimits extends SharedLimits {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
  ) {
    super();
  }

  override async take(take: Take, { replica, leaseMs }: Holder): Promise<Counted> {
    const { key, requests, requestLimit, tokens, tokenLimit, places, placeLimit } = take;
    const args = [requests, requestLimit, tokens, tokenLimit, places, placeLimit, replica, leaseMs];
    const [reply] = await this.redis.read(run(TAKE_LIMITS, [this.keys.limit(key)], ...args));
    const [admitted, ofRequests = 0, ofTokens = 0, open = 0, resetMs = 0] = reply as readonly number[];
    return { admitted: admitted === 1, requests: ofRequests, tokens: ofTokens, places: open, resetMs };
  }

  override async read(counters: readonly LookedAt[]): Promise<readonly Standing[]> {
    const toCommand = ({ key, tokenLimit }: LookedAt): Command => run(READ_LIMITS, [this.keys.limit(key)], tokenLimit);
    const replies = (await this.redis.read(...counters.map(toCommand))) as readonly (readonly number[])[];
    return replies.map(([requests = 0, tokens = 0, places = 0, resetMs = 0]) => ({
      requests,
      tokens,
      places,
      resetMs,
    }));
  }

  override async settle(changes: ReadonlyMap<string, Change>, { replica, leaseMs }: Holder): Promise<void> {
    const toCommand = ([key, change]: readonly [string, Change]): Command => {
      const { tokens, tokenLimit, places } = change;
      return run(SETTLE_LIMITS, [this.keys.limit(key)], tokens, tokenLimit, places, replica, leaseMs);
    };
    await this.redis.read(...Array.from(changes, toCommand));
  }

  override async renew(keys: readonly string[], { replica, leaseMs }: Holder): Promise<ReadonlyMap<string, number>> {
    const commands = keys.map((key) => run(RENEW_LIMITS, [this.keys.limit(key)], replica, leaseMs));
    const replies = (await this.redis.read(...commands)) as readonly number[];
    return new Map(keys.map((key, index) => [key, replies[index] ?? 0]));
  }
}
