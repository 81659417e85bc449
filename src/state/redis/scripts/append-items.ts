import type { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';
import { LOCKS } from './locks.js';

/** What became of an addition; with the id of an item, JSON, that is there already. */
export type Appended =
  readonly [outcome: 'appended' | 'not_found' | 'locked'] | readonly [outcome: 'duplicate_item', id: string];

/**
 * Adds items of a client to a conversation. A turn whose lease has expired is not saved any more.
 *
 * KEYS[1]: its place. ARGV[1]: names the call, so that its repetition does nothing; from ARGV[2] on: the items. Returns `Appended`.
 */
export const APPEND_ITEMS: Script = {
  name: 'append-items',
  text: `${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return {'not_found'} end
if redis.call('HGET', base .. ':conversation', 'change') == ARGV[1] then return {'appended'} end
if is_locked(base) then return {'locked'} end
local entries = entriesFrom(2)
for _, entry in ipairs(entries) do
  if redis.call('HEXISTS', base .. ':item-ids', entry.id) == 1 then return {'duplicate_item', entry.id} end
end
addEntries(base, entries)
redis.call('HSET', base .. ':conversation', 'change', ARGV[1])
void_lock(base)
return {'appended'}`,
};
