import { Script } from '../script.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';
import { CHAINS } from './chain.js';

/** What became of a response that was to be stored with its log. */
export type StoredRun = 'new' | 'there' | 'unlinked' | 'no conversation';

/**
 * Stores a response with its log, unless it is stored, if the response that it continues and its conversation are stored. It may have no
 * log, if it was not in the background.
 *
 * KEYS[1]: the place; KEYS[2]: that of its conversation, if it was made in one. ARGV[1]: now; ARGV[2]: the position at which its
 * context ends there; ARGV[3]: when its log expires, ms since the epoch, empty for one that has not ended; ARGV[4]: the
 * number of batches, and then these, each in four; then the insertion. Returns `StoredRun`.
 */
export const STORE_RUN = new Script(`${RESPONSES}${RUNS}
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
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt; ARGV[4]: names the call, so that its
 * repetition finds that it has begun. Returns `Started`, or nil.
 */
export const START_RUN = new Script(`${RESPONSES}${RUNS}
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
 * Does not count an attempt, once.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt.
 */
export const HAND_BACK = new Script(`${RESPONSES}${RUNS}
local id = ARGV[2]
if not isOpen(id, ARGV[3]) or redis.call('HGET', at(id), 'handed') == ARGV[3] then return end
redis.call('HSET', at(id), 'handed', ARGV[3])
redis.call('HINCRBY', at(id), 'attempts', -1)`);

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
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: most bytes. Returns `RunContext`, or nil when the
 * response is not stored any more.
 */
export const RUN_CONTEXT = new Script(`${RESPONSES}${CHAINS}
local id = ARGV[2]
if not exists(id) then return nil end
local path, bytes, conversation, position = path_to(id)
local left, earlier = ARGV[3] - bytes, ''
if left >= 0 and conversation then earlier = itemsUntil(conversation, position, left) end
if left < 0 or not earlier then return {1, false, '', false, false, 0} end
local context, own = transcript_of(path, 2, earlier), redis.call('MGET', at(id) .. ':inherited', at(id) .. ':input')
if own[1] then context = (context == '' and '' or context .. ',') .. own[1] end
local parent = path[2] and redis.call('HMGET', at(path[2]), 'origin', 'expires') or {false, false}
return {0, own[2], context, parent[1], parent[2], conversation and 1 or 0}`);
