import { PAGE_BYTES } from '../../page.js';
import type { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';

/** A page of items, JSON, in the direction in which they were read; or why there is none. */
export type ConversationItems =
  | readonly [outcome: 'page', hasMore: 0 | 1, items: readonly string[]]
  | readonly [outcome: 'not_found' | 'unknown_cursor'];

/**
 * Reads a page of the items that clients see.
 *
 * KEYS[1]: the place of the conversation. ARGV[1]: `XRANGE` from the oldest on, or `XREVRANGE`; ARGV[2]: the id of the item before
 * the page, JSON, or nothing; ARGV[3]: most items; ARGV[4]: now, ms since the epoch. Returns `ConversationItems`.
 */
export const CONVERSATION_ITEMS: Script = {
  name: 'conversation-items',
  text: `${CONVERSATIONS}
local base, command, limit = KEYS[1], ARGV[1], tonumber(ARGV[3])
if not findConversation(base) then return {'not_found'} end
local start, stop = '-', '+'
if command == 'XREVRANGE' then start, stop = '+', '-' end
if ARGV[2] ~= '' then
  local seen = positionsOf(base, ARGV[2])
  local position = seen[#seen]
  if not position then
    local gone = redis.call('GET', base .. ':gone-item:' .. ARGV[2])
    local place, counts = string.match(gone or '', '(%d+) (%d+)')
    if not place or tonumber(counts) <= tonumber(ARGV[4]) then return {'unknown_cursor'} end
    position = place
  end
  start = '(' .. position .. '-0'
end
local texts, bytes = {}, 0
repeat
  -- Few at a time: items can be large.
  local batch = redis.call(command, base .. ':items', start, stop, 'COUNT', 8)
  for _, entry in ipairs(batch) do
    start = '(' .. entry[1]
    local text = entry[2][2]
    if entry[2][1] == 'item' then
      bytes = bytes + #text
      if #texts == limit or (#texts > 0 and bytes > ${PAGE_BYTES}) then return {'page', 1, texts} end
      texts[#texts + 1] = text
    end
  end
until #batch < 8
return {'page', 0, texts}`,
};
