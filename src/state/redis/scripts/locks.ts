import { FREES_MEMORY, LuaScript } from '../script.js';
/** For how long the fence of a lease is remembered after that has expired, ms: it can be renewed and saved with until then. */
const FENCE_MS = 86_400_000;

/**
 * Lua functions on the lock of a slot, for scripts that do more in the same step. `base` is `SlotKeys.base`. Its key `:lease` is a
 * string that expires with the lease: who acquired it; `:fence` is the fence of the latest lease.
 *
 * - `acquireLock(base, holder, ttl)`: the fence of a new lease of `ttl` ms, or false while somebody else has the lock.
 *   `holder` is a random text: whoever asks again with it gets the same lease.
 * - `hasLock(base, fence)`: whether nobody has acquired the lock since, also when the lease has expired.
 * - `isLocked(base)`: whether a lease has not expired.
 * - `keepLock(base, fence, ttl)`: prolongs the lease, never shortens it; false when it is lost.
 * - `releaseLock(base, fence)`: gives the lock back, if it is not lost.
 * - `voidLock(base)`: nobody has the lock any more, also who could still renew an expired lease.
 *
 * Fences begin with the time of Redis, microseconds, and so grow also when an earlier one is forgotten.
 */
export const LOCKS = `
local function acquireLock(base, holder, ttl)
  local lease, key = base .. ':lease', base .. ':fence'
  local current = redis.call('GET', lease)
  if current and current ~= holder then return false end
  if current then
    local fence = redis.call('GET', key)
    if fence then return fence end
  end
  local time = redis.call('TIME')
  local last = tonumber(redis.call('GET', key) or '0')
  local fence = string.format('%.0f', math.max(tonumber(time[1]) * 1000000 + tonumber(time[2]), last + 1))
  redis.call('SET', key, fence, 'PX', ttl + ${FENCE_MS})
  redis.call('SET', lease, holder, 'PX', ttl)
  return fence
end
local function hasLock(base, fence)
  return redis.call('GET', base .. ':fence') == fence
end
local function isLocked(base)
  return redis.call('EXISTS', base .. ':lease') == 1
end
local function keepLock(base, fence, ttl)
  if not hasLock(base, fence) then return false end
  local lease = base .. ':lease'
  if redis.call('PTTL', lease) < tonumber(ttl) then
    redis.call('SET', lease, redis.call('GET', lease) or fence, 'PX', ttl)
    redis.call('PEXPIRE', base .. ':fence', ttl + ${FENCE_MS})
  end
  return true
end
local function voidLock(base)
  redis.call('DEL', base .. ':lease', base .. ':fence')
end
local function releaseLock(base, fence)
  if hasLock(base, fence) then voidLock(base) end
end
`;

/**
 * Gives a lock back.
 *
 * KEYS[1]: the slot. ARGV[1]: the fence of the lease.
 */
export const RELEASE_LOCK = new LuaScript(`${FREES_MEMORY}${LOCKS}
releaseLock(KEYS[1], ARGV[1])`);

/**
 * Prolongs a lease, which may have expired, unless somebody else has acquired the lock. It renews a lease, and it pins one:
 * nobody acquires the lock while something is saved under it in another slot.
 *
 * KEYS[1]: the slot. ARGV[1]: the fence of the lease; ARGV[2]: how long it lasts at least, ms. Returns whether it is not lost.
 */
export const KEEP_LOCK = new LuaScript(`${LOCKS}
return keepLock(KEYS[1], ARGV[1], ARGV[2]) and 1 or 0`);

/**
 * Acquires a lock that is free or whose lease has expired.
 *
 * KEYS[1]: the slot. ARGV[1]: the holder; ARGV[2]: how long the lease lasts, ms. Returns the fence, or nil while somebody else has the lock.
 */
export const ACQUIRE_LOCK = new LuaScript(`${LOCKS}
return acquireLock(KEYS[1], ARGV[1], ARGV[2])`);
