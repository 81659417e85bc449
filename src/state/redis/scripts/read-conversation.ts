import type { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';

/** A conversation that was read. No version: it is not found. No items: they are too large. */
export type ConversationRead = readonly [version: number | null, items: string | null, change: string];

/**
 * Reads the items of a conversation.
 *
 * KEYS[1]: its place. ARGV[1]: most bytes of items. Returns `ConversationRead`.
 */
export const READ_CONVERSATION: Script = {
  name: 'read-conversation',
  text: `${CONVERSATIONS}
local base = KEYS[1]
local conversation = findConversation(base)
if not conversation then return {false, false, ''} end
if conversation.size > tonumber(ARGV[1]) then return {conversation.version, false, ''} end
return {conversation.version, itemsUntil(base, '+', conversation.size), conversation.change}`,
};
