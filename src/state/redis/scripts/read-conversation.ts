import { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';
import { LOCKS } from './locks.js';

/** A conversation that was read. No version: it is not found. No items: they are too large. */
export type ConversationRead = readonly [version: number | null, items: string | null, change: string];

/**
 * Reads the items of a conversation.
 *
 * KEYS[1]: its place. ARGV[1]: most bytes of items. Returns `ConversationRead`.
 */
export const READ_CONVERSATION = new Script(`${CONVERSATIONS}
local base = KEYS[1]
local conversation = findConversation(base)
if not conversation then return {false, false, ''} end
if conversation.size > tonumber(ARGV[1]) then return {conversation.version, false, ''} end
return {conversation.version, itemsUntil(base, '+', conversation.size), conversation.change}`);

/** A conversation that was opened, or why it was not. */
export type Opened =
  | readonly [outcome: 'opened', fence: string, version: number, change: string, items: string | null]
  | readonly [outcome: 'not_found' | 'locked' | 'too_large'];

/**
 * Takes the lock of a conversation and reads its items.
 *
 * KEYS[1]: its place. ARGV[1]: how long the lease lasts, ms; ARGV[2]: names the call, so that its repetition finds its own lease;
 * ARGV[3]: the version whose items are known, or nothing; ARGV[4]: the change that made it; ARGV[5]: most bytes of items. Returns `Opened`.
 */
export const OPEN_CONVERSATION = new Script(`${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
local conversation = findConversation(base)
if not conversation then return {'not_found'} end
local isNew = conversation.version ~= tonumber(ARGV[3]) or conversation.change ~= ARGV[4]
if isNew and conversation.size > tonumber(ARGV[5]) then return {'too_large'} end
local fence = acquire_lock(base, ARGV[2], ARGV[1])
if not fence then return {'locked'} end
local items = isNew and itemsUntil(base, '+', conversation.size)
return {'opened', fence, conversation.version, conversation.change, items}`);
