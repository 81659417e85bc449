import type { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';

/**
 * Replaces the metadata of a conversation.
 *
 * KEYS[1]: its place. ARGV[1]: the metadata, JSON. Returns when it was created, Unix seconds; nil when it is not found.
 */
export const UPDATE_CONVERSATION: Script = {
  name: 'update-conversation',
  text: `${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return nil end
redis.call('HSET', base .. ':conversation', 'metadata', ARGV[1])
return redis.call('HGET', base .. ':conversation', 'created')`,
};
