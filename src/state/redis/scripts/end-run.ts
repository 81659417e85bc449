import { FREES_MEMORY, Script } from '../script.js';
import type { TurnRefusal } from '../errors.js';
import { HOLD_MS } from '../run-hold.js';
import { LOCKS } from './locks.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';

/**
 * What became of an end: `same`, it is stored already; `lost`, the lease on the session; `elsewhere`, the lock of the
 * session is in another place; `grown`, more was logged; `held`, somebody else ends it from outside; `closed`, the run may write no more; `refused`, the turn by its
 * conversation.
 */
export type Ended =
  | readonly [outcome: 'ended' | 'same' | 'grown' | 'held' | 'closed']
  | readonly [outcome: 'lost' | 'elsewhere', session: string]
  | readonly [outcome: 'refused', refusal: TurnRefusal];

/**
 * Ends a response: its status, its output, and its last events. In a conversation its turn is appended.
 *
 * KEYS[1]: the place: that of its conversation, if it is made in one. ARGV: 1 now; 2 the response; 3 the attempt, empty for any; 4 the last entry of the log that an
 * end from outside was made of, empty for that of its run; 5 to 8 the last batch; 9 the fence of the lease of the session, empty when there is none to check; 10 the lock of
 * the place, JSON; 11 status; 12 when the response expires, 13 its slack; 14 when its log does; 15 its size, 16 that of
 * its items; 17 origin, JSON or empty; 18 jobs, JSON or empty; 19 the items that it shows now as well (`HeldItems.names`); 20 what it has used, JSON or empty; 21 the number of the following: its texts, keys as of
 * `:body` and texts in turn. In a conversation: the version that the turn has read, and the entries. Returns `Ended`.
 */
export const END_RUN = new Script(`${LOCKS}${RESPONSES}${RUNS}
local id, fence, lastText = ARGV[2], ARGV[9], 21 + ARGV[21]
local version = ARGV[lastText + 1]
local session = redis.call('HGET', at(id), 'session')
if not isOpen(id, ARGV[3]) then
  local last = redis.call('HEXISTS', at(id), 'ended') == 1 and lastEntry(id)
  if last and last[1] == ARGV[5] and last[2][2] == ARGV[6] then return {'same'} end
  return {'closed'}
end
if ARGV[4] == '' and isHeld(id, '') then return {'held'} end
if version then
  local refusal = turnRefusal(base, fence, version)
  if refusal then return {'refused', refusal} end
elseif fence ~= '' then
  if session ~= ARGV[10] then return {'elsewhere', session} end
  if not has_lock(base, fence) then return {'lost', session} end
end
if ARGV[4] ~= '' and lastEntry(id)[1] ~= ARGV[4] then return {'grown'} end
redis.call('HSET', at(id), 'status', ARGV[11], 'size', ARGV[15], 'ended', ARGV[14])
redis.call('HINCRBY', at(id), 'items_size', ARGV[16])
if ARGV[17] ~= '' then redis.call('HSET', at(id), 'origin', ARGV[17]) end
if ARGV[18] ~= '' then redis.call('HSET', at(id), 'jobs', ARGV[18]) else redis.call('HDEL', at(id), 'jobs') end
if ARGV[19] ~= '' then redis.call('HSET', at(id), 'held', (redis.call('HGET', at(id), 'held') or '') .. ARGV[19]) end
if ARGV[20] ~= '' then redis.call('HSET', at(id), 'usage', ARGV[20]) end
redis.call('HDEL', at(id), 'call', 'handed', 'hold')
addBatch(id, 5)
redis.call('HDEL', at(id), 'done')
redis.call('UNLINK', at(id) .. ':turn')
for index = 22, lastText, 2 do redis.call('SET', at(id) .. ARGV[index], ARGV[index + 1]) end
if version then redis.call('HSET', at(id), addTurn(base, id, entriesFrom(lastText + 2))) end
settle(id, tonumber(ARGV[12]), tonumber(ARGV[13]))
-- Until the purge has it.
redis.call('PEXPIRE', at(id) .. ':log', lifetime(tonumber(ARGV[14])))
return {'ended'}`);

/** A response that is held, or why it is not: `held`, somebody else has it; `closed`, it has ended, or a later attempt has started. */
export type Held = readonly [body: string, turn: string] | 'held' | 'closed';

/**
 * Has a background response held for somebody who ends it from outside: its run waits until it is ended or released, or until too much
 * time has passed.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the field that it must have; ARGV[4]: the attempt,
 * empty for any; ARGV[5]: who holds it. Returns `Held`, or nil when it is not found.
 */
export const HOLD_RUN = new Script(`${RESPONSES}${RUNS}
local id = ARGV[2]
if not visible(id, ARGV[3]) or redis.call('HEXISTS', at(id), 'attempt') == 0 then return nil end
local turn = redis.call('GET', at(id) .. ':turn')
if not isOpen(id, ARGV[4]) or not turn then return 'closed' end
if isHeld(id, ARGV[5]) then return 'held' end
redis.call('HSET', at(id), 'hold', ARGV[5] .. ' ' .. whole(serverTime() + ${HOLD_MS}))
return {redis.call('GET', at(id) .. ':body'), turn}`);

/**
 * Lets the run of a response go on.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: who holds it.
 */
export const RELEASE_RUN = new Script(`${FREES_MEMORY}${RESPONSES}
local id = ARGV[2]
local holder = string.match(redis.call('HGET', at(id), 'hold') or '', '^%S+')
if holder == ARGV[3] then redis.call('HDEL', at(id), 'hold') end`);

/**
 * The unfinished ones of a visible response and, with ARGV[4], of all that continue it.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the field that it must have; ARGV[4]: 1 or 0.
 * Returns their ids.
 */
export const UNFINISHED = new Script(`${RESPONSES}${RUNS}
local found = {}
if not visible(ARGV[2], ARGV[3]) then return found end
for _, id in ipairs(branch(ARGV[2], ARGV[4] == '1')) do
  if isOpen(id, '') then found[#found + 1] = id end
end
return found`);
