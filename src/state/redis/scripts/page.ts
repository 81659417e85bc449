import { FREES_MEMORY, Script } from '../script.js';

/** The reply of PAGE: names and scores in turn, ascending; null when the list has no such cursor. */
export type PageReply = readonly string[] | null;

/**
 * A part of a sorted set, from a cursor on.
 *
 * KEYS[1]: a sorted set. ARGV[1]: 1 for what follows the cursor, 0 for what precedes it; ARGV[2]: how many; ARGV[3], ARGV[4]:
 * the least score, inclusive, and the highest, exclusive; ARGV[5], if any: the cursor; ARGV[6], if any: its score, for a
 * cursor that was in the list and may have left it. Returns a `PageReply`. What it adds, it removes: also when memory is full.
 */
export const PAGE = new Script(`${FREES_MEMORY}
local key, count = KEYS[1], tonumber(ARGV[2])
local first = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[3])
local last = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[4]) - 1
if ARGV[5] then
  local rank, width = redis.call('ZRANK', key, ARGV[5]), 1
  if not rank then
    if not ARGV[6] then return false end
    -- Where it was.
    redis.call('ZADD', key, ARGV[6], ARGV[5])
    rank, width = redis.call('ZRANK', key, ARGV[5]), 0
    redis.call('ZREM', key, ARGV[5])
  elseif rank < first or rank > last then
    return false
  end
  if ARGV[1] == '1' then first = math.max(first, rank + width) else last = math.min(last, rank - 1) end
end
if ARGV[1] == '1' then last = math.min(last, first + count - 1) else first = math.max(first, last - count + 1) end
if last < first then return {} end
return redis.call('ZRANGE', key, first, last, 'WITHSCORES')`);
