import { PAGE_BYTES } from '../../page.js';
import { BOOKMARK_MS } from '../../bookmark.js';
import { FREES_MEMORY, LuaScript } from '../script.js';
import { CONVERSATIONS } from './conversations.js';
import { GRACE_MS } from './indexes.js';
import { LOCKS } from './locks.js';

/** A page of items, each with its position and its JSON, in the direction in which they were read; or why there is none. */
export type ConversationItems =
  | readonly [outcome: 'page', hasMore: 0 | 1, items: readonly (readonly [position: string, item: string])[]]
  | readonly [outcome: 'not_found' | 'unknown_cursor'];

/**
 * Reads a page of the items that clients see.
 *
 * KEYS[1]: the slot of the conversation. ARGV[1]: `XRANGE` from the oldest on, or `XREVRANGE`; ARGV[2]: the id of the item before
 * the page, JSON, or nothing; ARGV[3]: most items; ARGV[4]: now, ms since the epoch. Returns `ConversationItems`.
 */
export const CONVERSATION_ITEMS = new LuaScript(`${CONVERSATIONS}
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
local items, bytes = {}, 0
repeat
  -- Few at a time: items can be large.
  local batch = redis.call(command, base .. ':items', start, stop, 'COUNT', 8)
  for _, entry in ipairs(batch) do
    start = '(' .. entry[1]
    local text = entry[2][2]
    if entry[2][1] == 'item' then
      bytes = bytes + #text
      if #items == limit or (#items > 0 and bytes > ${PAGE_BYTES}) then return {'page', 1, items} end
      items[#items + 1] = {string.match(entry[1], '%d+'), text}
    end
  end
until #batch < 8
return {'page', 0, items}`);

/** An item, JSON; `item` is null when it is not there. */
export type ConversationItem = readonly [outcome: 'found', item: string | null] | readonly [outcome: 'not_found'];

/**
 * Reads an item that clients see: the latest one with the id.
 *
 * KEYS[1]: the slot of the conversation. ARGV[1]: the id, JSON. Returns `ConversationItem`.
 */
export const CONVERSATION_ITEM = new LuaScript(`${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return {'not_found'} end
local seen = positionsOf(base, ARGV[1])
if #seen == 0 then return {'found', false} end
local id = seen[#seen] .. '-0'
return {'found', redis.call('XRANGE', base .. ':items', id, id)[1][2][2]}`);

/** What became of the deletion of an item; with the conversation: when it was created, Unix seconds, and its metadata, JSON. */
export type ItemDeleted =
  | readonly [outcome: 'deleted', created: string, metadata: string]
  | readonly [outcome: 'not_found' | 'locked' | 'item_not_found'];

/**
 * Deletes an item that clients see. A turn whose lease has expired is not saved any more.
 *
 * KEYS[1]: the slot. ARGV[1]: names the call, so that its repetition does nothing; ARGV[2]: the id, JSON; ARGV[3]: now,
 * ms since the epoch. Returns `ItemDeleted`.
 */
export const DELETE_ITEM = new LuaScript(`${FREES_MEMORY}${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
local about = base .. ':conversation'
if not findConversation(base) then return {'not_found'} end
local known = redis.call('HMGET', about, 'created', 'metadata', 'change')
if known[3] == ARGV[1] then return {'deleted', known[1], known[2]} end
if isLocked(base) then return {'locked'} end
local seen, given = positionsOf(base, ARGV[2])
if #seen == 0 then return {'item_not_found'} end
local size = 0
for _, position in ipairs(seen) do
  local id = position .. '-0'
  size = size + #redis.call('XRANGE', base .. ':items', id, id)[1][2][2]
  redis.call('XDEL', base .. ':items', id)
end
if #given == 0 then redis.call('HDEL', base .. ':item-ids', ARGV[2])
else redis.call('HSET', base .. ':item-ids', ARGV[2], 'g' .. table.concat(given, ' g')) end
local place = seen[#seen] .. ' ' .. whole(ARGV[3] + ${BOOKMARK_MS})
redis.call('SET', base .. ':gone-item:' .. ARGV[2], place, 'PX', ${BOOKMARK_MS + GRACE_MS})
redis.call('HINCRBY', about, 'size', -size)
redis.call('HINCRBY', about, 'version', 1)
redis.call('HSET', about, 'change', ARGV[1])
voidLock(base)
return {'deleted', known[1], known[2]}`);
