import { FREES_MEMORY, type Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';

/**
 * Hides a conversation; nothing is appended to it any more. It is freed at once, or with the last response that was made in it.
 *
 * KEYS[1]: its place. ARGV[1]: now, ms since the epoch. Returns the ids of its items, JSON; nil when it is not found.
 */
export const DELETE_CONVERSATION: Script = {
  name: 'delete-conversation',
  text: `${FREES_MEMORY}${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return nil end
local ids = redis.call('HKEYS', base .. ':item-ids')
hideConversation(base, tonumber(ARGV[1]))
return ids`,
};
