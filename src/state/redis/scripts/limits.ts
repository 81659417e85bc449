import type { Script } from '../script.js';

/**
 * Counts a request and its tokens if there is room for both.
 *
 * KEYS: 1 counters. ARGV: 1 tokens, 2 limit of requests, 3 limit of tokens (0: none), 4 length of a window, ms.
 * Returns whether it was counted, requests, tokens, and how long the window lasts, ms.
 */
export const COUNT_LIMITS: Script = {
  name: 'count-limits',
  text: `local counted = redis.call('HMGET', KEYS[1], 'requests', 'tokens')
local requests, tokens = tonumber(counted[1] or 0), tonumber(counted[2] or 0)
local new, request_limit, token_limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local admitted = (request_limit == 0 or requests < request_limit) and (token_limit == 0 or tokens + new <= token_limit)
if admitted then
  requests = redis.call('HINCRBY', KEYS[1], 'requests', 1)
  tokens = redis.call('HINCRBY', KEYS[1], 'tokens', ARGV[1])
  if redis.call('PTTL', KEYS[1]) < 0 then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
end
return {admitted and 1 or 0, requests, tokens, math.max(redis.call('PTTL', KEYS[1]), 0)}`,
};

/**
 * Adds tokens to a counter, or gives them back.
 *
 * KEYS: 1 counters. ARGV: 1 tokens, 2 length of a window, ms.
 */
export const SETTLE_LIMITS: Script = {
  name: 'settle-limits',
  text: `local exists = redis.call('EXISTS', KEYS[1]) == 1
if not exists and tonumber(ARGV[1]) <= 0 then return 0 end
if redis.call('HINCRBY', KEYS[1], 'tokens', ARGV[1]) < 0 then redis.call('HSET', KEYS[1], 'tokens', 0) end
if not exists then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1`,
};

/**
 * States what a replica has open. Time is that of Redis.
 *
 * KEYS: 1 the hash of all replicas. ARGV: 1 replica, 2 what it has open as JSON, 3 how long that counts, ms.
 * Returns what the other replicas have open.
 */
export const EXCHANGE_LIMITS: Script = {
  name: 'exchange-limits',
  text: `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ARGV[3]) .. ' ' .. ARGV[2])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
local others = {}
local all = redis.call('HGETALL', KEYS[1])
for index = 1, #all, 2 do
  local expires, open = all[index + 1]:match('^(%d+) (.*)$')
  if tonumber(expires) <= now then redis.call('HDEL', KEYS[1], all[index])
  elseif all[index] ~= ARGV[1] then others[#others + 1] = open end
end
return others`,
};
