import { FREES_MEMORY, LuaScript } from '../script.js';
/** Keys outlive the time until which a response is kept by so long, ms: the purge announces and frees it before. */
export const GRACE_MS = 600_000;

/** How long entries in lists live of a response that has not ended, ms, unless they are renewed. */
export const UNFINISHED_MS = 24 * 3_600_000;

/** How long the keys of a response live that does not expire yet, ms. */
export const LONGEST_MS = 366 * 24 * 3_600_000;

/** A function in Lua: has a key live for so long at least, ms. */
export const LIVE = `
local function live(key, ms)
  if redis.call('PTTL', key) < tonumber(ms) then redis.call('PEXPIRE', key, ms) end
end
`;

/**
 * Adds entries to an index, which lives at least as long as they are of use.
 *
 * KEYS[1]: a sorted set. ARGV[1]: how long they are of use, ms; from ARGV[2] on: scores and entries in turn.
 */
export const ENTER = new LuaScript(`${LIVE}
redis.call('ZADD', KEYS[1], unpack(ARGV, 2))
live(KEYS[1], ARGV[1])`);

/**
 * Adds an entry to an index that has room for it.
 *
 * KEYS[1]: a sorted set. ARGV: 1 most entries, 2 how long it is of use, ms, 3 score, 4 entry, then entries that are removed before.
 * Returns 1, or 0 when there is no room.
 */
export const ENTER_BELOW = new LuaScript(`${LIVE}
for first = 5, #ARGV, 1000 do redis.call('ZREM', KEYS[1], unpack(ARGV, first, math.min(first + 999, #ARGV))) end
if not redis.call('ZSCORE', KEYS[1], ARGV[4]) then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[4])
end
live(KEYS[1], ARGV[2])
return 1`);

/** Which bound is reached, if any. */
export type Admitted = 'admitted' | 'total' | 'perTenant';

/**
 * Enters a response into the queue if the bounds allow it.
 *
 * KEYS: 1 the queued ones of all, 2 of the tenant, 3 the outbox. ARGV: 1 the entry; 2 when it was created, ms; 3 when
 * the outbox is looked at, ms; 4 most of all, 5 most of the tenant; 6 how long the lists are of use, ms. Returns `Admitted`.
 */
export const ADMIT = new LuaScript(`
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 'total' end
  if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[5]) then return 'perTenant' end
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[6]) end
return 'admitted'`);

/**
 * Removes a conversation from those that have an item, unless it was added again later.
 *
 * KEYS[1]: those that have it. ARGV[1]: the name of the conversation; ARGV[2]: when it was added.
 */
export const WITHDRAW = new LuaScript(
  `${FREES_MEMORY}if tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or 0) == tonumber(ARGV[2]) then redis.call('ZREM', KEYS[1], ARGV[1]) end`,
);
