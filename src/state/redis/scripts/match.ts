import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';

/** In place of the size of a response that is not visible or does not match. */
export const NO_MATCH = -1;
/** In place of the size of a response that is not stored in the place. */
export const NOT_STORED = -2;

/**
 * Which responses are visible and match a filter.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: within; ARGV[3]: the model; ARGV[4]: the status; ARGV[5]: labels, with blanks
 * in between; each of these is empty when it does not matter, but the model is one to match if ARGV[6] is 1; from
 * ARGV[7] on: ids. Returns the size of each, bytes, or NO_MATCH or NOT_STORED.
 */
export const MATCH: Script = {
  name: 'match',
  text: `${RESPONSES}
local function matches(id)
  if not visible(id, ARGV[2]) then return false end
  local known = redis.call('HMGET', at(id), 'model', 'status', 'labels')
  if ARGV[6] == '1' and known[1] ~= ARGV[3] then return false end
  if ARGV[4] ~= '' and known[2] ~= ARGV[4] then return false end
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
return replies`,
};
