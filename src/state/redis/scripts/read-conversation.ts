import { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';
import { LOCKS } from './locks.js';

/** A conversation that was read, or why it was not. `items` is null when they are known; `fence` when the lock was not wanted. */
export type ConversationRead =
  | readonly [outcome: 'read', version: number, change: string, items: string | null, fence: string | null]
  | readonly [outcome: 'not_found' | 'locked' | 'too_large'];

/**
 * Reads the items of a conversation and, if wanted, takes its lock.
 *
 * KEYS[1]: its place. ARGV[1]: most bytes of items; to take the lock ARGV[2]: how long the lease lasts, ms; ARGV[3]: names the call, so
 * that its repetition finds its own lease; ARGV[4]: the version whose items are known, or nothing; ARGV[5]: the change that made it. Returns
 * `ConversationRead`.
 */
export const READ_CONVERSATION = new Script(`${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
local conversation = findConversation(base)
if not conversation then return {'not_found'} end
local isNew = conversation.version ~= tonumber(ARGV[4]) or conversation.change ~= ARGV[5]
if isNew and conversation.size > tonumber(ARGV[1]) then return {'too_large'} end
local fence = ARGV[2] and acquire_lock(base, ARGV[3], ARGV[2])
if ARGV[2] and not fence then return {'locked'} end
local items = isNew and itemsUntil(base, '+', conversation.size)
return {'read', conversation.version, conversation.change, items, fence or false}`);
