/** For how long the fence of a lease is remembered after that has expired, ms: it can be renewed and saved with until then. */
const FENCE_MS = 86_400_000;

/**
 * Lua functions on the lock of a place, for scripts that do more in the same step. `place` is `PlaceKeys.base`; scripts
 * that use them name its `lease` and `fence` among their KEYS.
 *
 * - `acquire_lock(place, holder, ttl)`: the fence of a new lease of `ttl` ms, or false while somebody else has the lock.
 *   `holder` is a random text: whoever asks again with it gets the same lease.
 * - `has_lock(place, fence)`: whether nobody has acquired the lock since, also when the lease has expired.
 * - `is_locked(place)`: whether a lease has not expired.
 * - `keep_lock(place, fence, ttl)`: prolongs the lease, never shortens it; false when it is lost.
 * - `release_lock(place, fence)`: gives the lock back, if it is not lost.
 * - `void_lock(place)`: nobody has the lock any more, also who could still renew an expired lease.
 *
 * Fences begin with the time of Redis, microseconds, and so grow also when an earlier one is forgotten.
 */
export const LOCKS = `
local function acquire_lock(place, holder, ttl)
  local lease, key = place .. ':lease', place .. ':fence'
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
local function has_lock(place, fence)
  return redis.call('GET', place .. ':fence') == fence
end
local function is_locked(place)
  return redis.call('EXISTS', place .. ':lease') == 1
end
local function keep_lock(place, fence, ttl)
  if not has_lock(place, fence) then return false end
  local lease = place .. ':lease'
  if redis.call('PTTL', lease) < tonumber(ttl) then
    redis.call('SET', lease, redis.call('GET', lease) or fence, 'PX', ttl)
    redis.call('PEXPIRE', place .. ':fence', ttl + ${FENCE_MS})
  end
  return true
end
local function void_lock(place)
  redis.call('DEL', place .. ':lease', place .. ':fence')
end
local function release_lock(place, fence)
  if has_lock(place, fence) then void_lock(place) end
end
`;
