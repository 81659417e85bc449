import { FREES_MEMORY, type Script } from '../script.js';
import { BOOKMARK_MS } from '../../bookmark.js';
import { CONVERSATIONS } from './conversations.js';
import { GRACE_MS } from './lifetimes.js';
import { LOCKS } from './locks.js';

/** What became of the deletion of an item; with the conversation: when it was created, Unix seconds, and its metadata, JSON. */
export type ItemDeleted =
  | readonly [outcome: 'deleted', created: string, metadata: string]
  | readonly [outcome: 'not_found' | 'locked' | 'item_not_found'];

/**
 * Deletes an item that clients see. A turn whose lease has expired is not saved any more.
 *
 * KEYS[1]: the place. ARGV[1]: names the call, so that its repetition does nothing; ARGV[2]: the id, JSON; ARGV[3]: now,
 * ms since the epoch. Returns `ItemDeleted`.
 */
export const DELETE_ITEM: Script = {
  name: 'delete-item',
  text: `${FREES_MEMORY}${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
local about = base .. ':conversation'
if not findConversation(base) then return {'not_found'} end
local known = redis.call('HMGET', about, 'created', 'metadata', 'change')
if known[3] == ARGV[1] then return {'deleted', known[1], known[2]} end
if is_locked(base) then return {'locked'} end
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
local place = seen[#seen] .. string.format(' %.0f', ARGV[3] + ${BOOKMARK_MS})
redis.call('SET', base .. ':gone-item:' .. ARGV[2], place, 'PX', ${BOOKMARK_MS + GRACE_MS})
redis.call('HINCRBY', about, 'size', -size)
redis.call('HINCRBY', about, 'version', 1)
redis.call('HSET', about, 'change', ARGV[1])
void_lock(base)
return {'deleted', known[1], known[2]}`,
};
