import type { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';

/**
 * Stores a conversation, once.
 *
 * KEYS[1]: its place. ARGV[1]: when it was created, Unix seconds; ARGV[2]: its metadata, JSON; ARGV[3]: its name (`conversationName`);
 * from ARGV[4] on: its items.
 */
export const CREATE_CONVERSATION: Script = {
  name: 'create-conversation',
  text: `${CONVERSATIONS}
local base = KEYS[1]
if redis.call('EXISTS', base .. ':conversation') == 1 then return end
redis.call('HSET', base .. ':conversation', 'created', ARGV[1], 'metadata', ARGV[2], 'name', ARGV[3])
addEntries(base, entriesFrom(4))`,
};
