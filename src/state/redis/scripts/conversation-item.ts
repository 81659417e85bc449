import type { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';

/** An item, JSON; `item` is null when it is not there. */
export type ConversationItem = readonly [outcome: 'found', item: string | null] | readonly [outcome: 'not_found'];

/**
 * Reads an item that clients see: the latest one with the id.
 *
 * KEYS[1]: the place of the conversation. ARGV[1]: the id, JSON. Returns `ConversationItem`.
 */
export const CONVERSATION_ITEM: Script = {
  name: 'conversation-item',
  text: `${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return {'not_found'} end
local seen = positionsOf(base, ARGV[1])
if #seen == 0 then return {'found', false} end
local id = seen[#seen] .. '-0'
return {'found', redis.call('XRANGE', base .. ':items', id, id)[1][2][2]}`,
};
