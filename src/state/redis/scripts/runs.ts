import type { TurnRefusal } from '../errors.js';
import { FREES_MEMORY, LuaScript } from '../script.js';
import { LOCKS } from './locks.js';
import { CHAINS } from './read.js';
import { RESPONSES } from './responses.js';
/**
 * Functions in Lua about background responses, for scripts that begin with RESPONSES and then these. Their hashes have
 * `attempt` (the latest that has started), `attempts` (without those that were handed back), `stream` (1 when clients may
 * read the log), `jobs` (JSON: what is to be enqueued), `done` (the entries of the log that say something of finished
 * items), `hold` (who ends it from outside, and until when its run waits for that, ms of the clock of Redis), and `ended` once they have ended: until when the log is stored, ms since the epoch.
 *
 * `:log` is a stream whose entry `<number of its first event + 1>-<number of its first note>` has the fields `events`
 * and `notes`.
 */
export const RUNS = `
-- Whether a run may write: the response has not ended, and the attempt, if one is given, is the latest.
local function isOpen(id, attempt)
  local run = redis.call('HMGET', at(id), 'attempt', 'ended')
  return visible(id, '') and run[1] and not run[2] and (attempt == '' or run[1] == attempt)
end

-- Whether somebody else ends the response from outside: until that is done, nothing is logged.
local function isHeld(id, name)
  local holder, ends = string.match(redis.call('HGET', at(id), 'hold') or '', '^(%S+) (%d+)$')
  return holder and holder ~= name and tonumber(ends) > serverTime()
end

-- Appends a batch that follows the last one, written from ARGV[start] on: its entry, events and notes, and 1 if it has
-- items. One that is there already is left out.
local function addBatch(id, start)
  local key, entry, events, notes = at(id) .. ':log', ARGV[start], ARGV[start + 1], ARGV[start + 2]
  if events == '' and notes == '' then return end
  local isNew = redis.call('EXISTS', key) == 0
  local added = redis.pcall('XADD', key, entry, 'events', events, 'notes', notes)
  if type(added) == 'table' and added.err then
    if string.find(added.err, 'equal or smaller', 1, true) then return end
    error(added)
  end
  if isNew then redis.call('PEXPIRE', key, redis.call('PTTL', at(id))) end
  if ARGV[start + 3] == '1' then
    redis.call('HSET', at(id), 'done', (redis.call('HGET', at(id), 'done') or '') .. ' ' .. entry)
  end
end

local function lastEntry(id)
  return redis.call('XREVRANGE', at(id) .. ':log', '+', '-', 'COUNT', 1)[1]
end
`;

/** What became of a response that was to be stored with its log. */
export type StoredRun = 'new' | 'there' | 'unlinked' | 'no conversation';

/**
 * Stores a response with its log, unless it is stored, if the response that it continues and its conversation are stored. It may have no
 * log, if it was not in the background.
 *
 * KEYS[1]: the slot; KEYS[2]: that of its conversation, if it was made in one. ARGV[1]: now; ARGV[2]: the position at which its
 * context ends there; ARGV[3]: when its log expires, ms since the epoch, empty for one that has not ended; ARGV[4]: the
 * number of batches, and then these, each in four; then the insertion. Returns `StoredRun`.
 */
export const STORE_RUN = new LuaScript(`${RESPONSES}${RUNS}
local conversation, batches = KEYS[2], tonumber(ARGV[4])
local r = insertionAt(5 + 4 * batches)
if exists(r.id) then return 'there' end
if not linked(r) then return 'unlinked' end
if conversation and redis.call('EXISTS', conversation .. ':conversation') == 0 then return 'no conversation' end
insert(r)
if conversation then
  redis.call('HSET', at(r.id), 'conversation', conversation, 'position', ARGV[2])
  redis.call('HINCRBY', conversation .. ':conversation', 'responses', 1)
  keepConversation(conversation, tonumber(redis.call('HGET', at(r.id), 'until')), now)
end
for index = 0, batches - 1 do addBatch(r.id, 5 + 4 * index) end
if ARGV[3] ~= '' then redis.call('PEXPIRE', at(r.id) .. ':log', lifetime(tonumber(ARGV[3]))) end
return 'new'`);

/** An attempt that has begun. */
export type Started = readonly [turn: string, attempts: string, status: string, session: string, parent: string | null];

/**
 * Begins an attempt, unless a later one has begun.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt; ARGV[4]: names the call, so that its
 * repetition finds that it has begun. Returns `Started`, or nil.
 */
export const START_RUN = new LuaScript(`${RESPONSES}${RUNS}
local id, attempt = ARGV[2], tonumber(ARGV[3])
if not isOpen(id, '') then return nil end
local known = redis.call('HMGET', at(id), 'attempt', 'call')
if known[2] ~= ARGV[4] then
  if tonumber(known[1]) >= attempt then return nil end
  redis.call('HSET', at(id), 'attempt', ARGV[3], 'call', ARGV[4])
  redis.call('HINCRBY', at(id), 'attempts', 1)
end
local run = redis.call('HMGET', at(id), 'attempts', 'status', 'session', 'parent')
return {redis.call('GET', at(id) .. ':turn'), run[1], run[2], run[3], run[4]}`);

/**
 * What a run works with: its input, and the items before it; comma-separated JSON texts, in order. `tooLarge` has the
 * rest empty. `origin` and `expires` are of the response that it continues.
 */
export type RunContext = readonly [
  tooLarge: 0 | 1,
  input: string | null,
  context: string,
  origin: string | null,
  expires: string | null,
  isInConversation: 0 | 1,
];

/**
 * The items before the output of a run, those of deleted ancestors included, and the response that it continues.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: most bytes. Returns `RunContext`, or nil when the
 * response is not stored any more.
 */
export const RUN_CONTEXT = new LuaScript(`${RESPONSES}${CHAINS}
local id = ARGV[2]
if not exists(id) then return nil end
local path, bytes, conversation, position = pathTo(id)
local left, earlier = ARGV[3] - bytes, ''
if left >= 0 and conversation then earlier = itemsUntil(conversation, position, left) end
if left < 0 or not earlier then return {1, false, '', false, false, 0} end
local context, own = transcriptOf(path, 2, earlier), redis.call('MGET', at(id) .. ':inherited', at(id) .. ':input')
if own[1] then context = (context == '' and '' or context .. ',') .. own[1] end
local parent = path[2] and redis.call('HMGET', at(path[2]), 'origin', 'expires') or {false, false}
return {0, own[2], context, parent[1], parent[2], conversation and 1 or 0}`);

/**
 * Does not count an attempt, once.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt.
 */
export const HAND_BACK = new LuaScript(`${RESPONSES}${RUNS}
local id = ARGV[2]
if not isOpen(id, ARGV[3]) or redis.call('HGET', at(id), 'handed') == ARGV[3] then return end
redis.call('HSET', at(id), 'handed', ARGV[3])
redis.call('HINCRBY', at(id), 'attempts', -1)`);

/** How long a process may take to end a background response from outside, ms; after that its run goes on. Reading the longest log takes one second. */
const HOLD_MS = 10_000;

/**
 * What became of an end: `same`, it is stored already; `lost`, the lease on the session; `elsewhere`, the lock of the
 * session is in another slot; `grown`, more was logged; `held`, somebody else ends it from outside; `closed`, the run may write no more; `refused`, the turn by its
 * conversation.
 */
export type Ended =
  | readonly [outcome: 'ended' | 'same' | 'grown' | 'held' | 'closed']
  | readonly [outcome: 'lost' | 'elsewhere', session: string]
  | readonly [outcome: 'refused', refusal: TurnRefusal];

/**
 * Ends a response: its status, its output, and its last events. In a conversation its turn is appended.
 *
 * KEYS[1]: the slot: that of its conversation, if it is made in one. ARGV: 1 now; 2 the response; 3 the attempt, empty for any; 4 the last entry of the log that an
 * end from outside was made of, empty for that of its run; 5 to 8 the last batch; 9 the fence of the lease of the session, empty when there is none to check; 10 the name of
 * the slot, JSON; 11 status; 12 when the response expires, 13 its slack; 14 when its log does; 15 its size, 16 that of
 * its items; 17 origin, JSON or empty; 18 jobs, JSON or empty; 19 the items that it shows now as well (`HeldItems.names`); 20 what it has used, JSON or empty; 21 the number of the following: its texts, keys as of
 * `:body` and texts in turn. In a conversation: the version that the turn has read, and the entries. Returns `Ended`.
 */
export const END_RUN = new LuaScript(`${LOCKS}${RESPONSES}${RUNS}
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
  if not hasLock(base, fence) then return {'lost', session} end
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
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the field that it must have; ARGV[4]: the attempt,
 * empty for any; ARGV[5]: who holds it. Returns `Held`, or nil when it is not found.
 */
export const HOLD_RUN = new LuaScript(`${RESPONSES}${RUNS}
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
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: who holds it.
 */
export const RELEASE_RUN = new LuaScript(`${FREES_MEMORY}${RESPONSES}
local id = ARGV[2]
local holder = string.match(redis.call('HGET', at(id), 'hold') or '', '^%S+')
if holder == ARGV[3] then redis.call('HDEL', at(id), 'hold') end`);

/**
 * The unfinished ones of a visible response and, with ARGV[4], of all that continue it.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the field that it must have; ARGV[4]: 1 or 0.
 * Returns their ids.
 */
export const UNFINISHED = new LuaScript(`${RESPONSES}${RUNS}
local found = {}
if not visible(ARGV[2], ARGV[3]) then return found end
for _, id in ipairs(branch(ARGV[2], ARGV[4] == '1')) do
  if isOpen(id, '') then found[#found + 1] = id end
end
return found`);
