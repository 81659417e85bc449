import { FREES_MEMORY, Script } from '../script.js';
import { RESPONSES } from './responses.js';

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

/** In place of the size of a response that is not visible or does not match. */
export const NO_MATCH = -1;

/** In place of the size of a response that is not stored in the slot. */
export const NOT_STORED = -2;

/**
 * Which responses are visible and match a filter.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: within; ARGV[3]: the model; ARGV[4]: statuses, and ARGV[5]: labels, with
 * blanks in between; each of these is empty when it does not matter, but the model is one to match if ARGV[6] is 1; from
 * ARGV[7] on: ids. Returns the size of each, bytes, or NO_MATCH or NOT_STORED.
 */
export const MATCH = new Script(`${RESPONSES}
local function matches(id)
  if not visible(id, ARGV[2]) then return false end
  local known = redis.call('HMGET', at(id), 'model', 'status', 'labels')
  if ARGV[6] == '1' and known[1] ~= ARGV[3] then return false end
  local statuses = ' ' .. ARGV[4] .. ' '
  if ARGV[4] ~= '' and not string.find(statuses, ' ' .. known[2] .. ' ', 1, true) then return false end
  local labels = ' ' .. (known[3] or '') .. ' '
  for label in string.gmatch(ARGV[5], '%S+') do
    if not string.find(labels, ' ' .. label .. ' ', 1, true) then return false end
  end
  return true
end
local replies = {}
for i = 7, #ARGV do
  local id = ARGV[i]
  local size = redis.call('HGET', at(id), 'size')
  replies[#replies + 1] = not size and ${NOT_STORED} or matches(id) and tonumber(size) or ${NO_MATCH}
end
return replies`);
