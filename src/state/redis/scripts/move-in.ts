import { Script } from '../script.js';
import { CONVERSATIONS } from './conversations.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';

/** What is kept only for others is kept so long without them, ms: an import may be between the two. */
export const WAITING_MS = 86_400_000;

/**
 * Stores a conversation without its items, unless it is stored.
 *
 * KEYS[1]: its place. ARGV: 1 when it was created, Unix seconds; 2 its metadata, JSON; 3 its name; 4 its version; 5 the position of
 * its latest item; 6: 1 when it was deleted. Returns whether it is new.
 */
export const MOVE_CONVERSATION = new Script(`${CONVERSATIONS}
local base, about = KEYS[1], KEYS[1] .. ':conversation'
if redis.call('EXISTS', about) == 1 then return 0 end
redis.call('HSET', about, 'created', ARGV[1], 'metadata', ARGV[2], 'name', ARGV[3], 'version', ARGV[4], 'size', 0, 'last', ARGV[5])
if ARGV[6] == '1' then
  redis.call('HSET', about, 'deleted', 1)
  expireConversation(base, ${WAITING_MS})
end
return 1`);

/**
 * Stores items of a conversation that has a version; those that are stored stay as they are.
 *
 * KEYS[1]: its place. ARGV[1]: the version; from ARGV[2] on: for each item its position, kind, id and text.
 */
export const MOVE_ENTRIES = new Script(`${CONVERSATIONS}
local base, about = KEYS[1], KEYS[1] .. ':conversation'
if redis.call('HGET', about, 'version') ~= ARGV[1] then return end
local last = redis.call('XREVRANGE', base .. ':items', '+', '-', 'COUNT', 1)[1]
local stored = last and tonumber(string.match(last[1], '^%d+')) or 0
for index = 2, #ARGV, 4 do
  local position, kind, id, text = ARGV[index], ARGV[index + 1], ARGV[index + 2], ARGV[index + 3]
  if tonumber(position) > stored then
    redis.call('XADD', base .. ':items', position .. '-0', kind, text)
    local place = kind == 'given' and 'g' .. position or position
    local others = redis.call('HGET', base .. ':item-ids', id)
    redis.call('HSET', base .. ':item-ids', id, others and others .. ' ' .. place or place)
    redis.call('HINCRBY', about, 'size', #text)
  end
end
if redis.call('HEXISTS', about, 'deleted') == 1 then expireConversation(base, ${WAITING_MS}) end`);

/** What became of a response that is moved. */
export type MovedIn = 'new' | 'there' | 'unlinked' | 'no conversation';

/**
 * Stores a response with its log, unless it is stored, if the response that it continues and its conversation are stored.
 *
 * KEYS[1]: the place; KEYS[2]: that of its conversation, if it was made in one. ARGV[1]: now; ARGV[2]: the position at which its
 * context ends there; ARGV[3]: when its log expires, ms since the epoch, empty for one that has not ended; ARGV[4]: the
 * number of batches, and then these, each in four; then the insertion. Returns `MovedIn`.
 */
export const MOVE_RESPONSE = new Script(`${RESPONSES}${RUNS}
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

/**
 * Stores the job of a response with it, if that has not ended and has none: so it is enqueued again if the queue loses it.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: its jobs, JSON.
 */
export const KEEP_JOB = new Script(`${RESPONSES}${RUNS}
if isOpen(ARGV[2], '') then redis.call('HSETNX', at(ARGV[2]), 'jobs', ARGV[3]) end`);
