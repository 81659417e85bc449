import { Script } from '../script.js';
import { LOCKS } from './locks.js';
import { RESPONSES } from './responses.js';
/** What became of a save: `lost`, the lease; `unlinked`, the response that it continues is not stored. */
export type Saved = 'saved' | 'lost' | 'unlinked';

/**
 * Stores a response, if the lease is the latest and the response that it continues is stored. One that is
 * stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the fence of the slot's lock, empty when there is none to check;
 * from ARGV[3] on: the insertion. Returns `Saved`.
 */
export const SAVE = new Script(`${LOCKS}${RESPONSES}
local r = insertionAt(3)
if exists(r.id) then return 'saved' end
if ARGV[2] ~= '' and not hasLock(base, ARGV[2]) then return 'lost' end
if not linked(r) then return 'unlinked' end
insert(r)
return 'saved'`);

/**
 * Stores a response that was made in a conversation in the slot of that, appends its turn and releases the lock; nothing, if
 * the turn is refused. A response that is stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the fence of the conversation's lock, empty when there is none to check; ARGV[3]: the
 * version that the turn has read; from ARGV[4] on: the insertion, then the entries. Returns a `TurnRefusal`, or nil.
 */
export const SAVE_TURN = new Script(`${LOCKS}${RESPONSES}
local r, next = insertionAt(4)
if exists(r.id) then return nil end
local refusal = turnRefusal(base, ARGV[2], ARGV[3])
if refusal then return refusal end
insert(r)
redis.call('HSET', at(r.id), addTurn(base, r.id, entriesFrom(next)))
keepConversation(base, tonumber(redis.call('HGET', at(r.id), 'until')), now)
releaseLock(base, ARGV[2])
return nil`);
