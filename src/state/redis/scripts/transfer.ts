import { LuaScript } from '../script.js';
import { CONVERSATIONS } from './conversations.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';
/** What is kept only for others is kept so long without them, ms: an import may be between the two. */
export const WAITING_MS = 86_400_000;

/**
 * Stores a conversation without its items, unless it is stored.
 *
 * KEYS[1]: its slot. ARGV: 1 when it was created, Unix seconds; 2 its metadata, JSON; 3 its name; 4 its version; 5 the position of
 * its latest item; 6: 1 when it was deleted. Returns whether it is new.
 */
export const MOVE_CONVERSATION = new LuaScript(`${CONVERSATIONS}
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
 * KEYS[1]: its slot. ARGV[1]: the version; from ARGV[2] on: for each item its position, kind, id and text.
 */
export const MOVE_ENTRIES = new LuaScript(`${CONVERSATIONS}
local base, about = KEYS[1], KEYS[1] .. ':conversation'
if redis.call('HGET', about, 'version') ~= ARGV[1] then return end
local last = redis.call('XREVRANGE', base .. ':items', '+', '-', 'COUNT', 1)[1]
local stored = last and tonumber(string.match(last[1], '^%d+')) or 0
for index = 2, #ARGV, 4 do
  local entry = {kind = ARGV[index + 1], id = ARGV[index + 2], text = ARGV[index + 3]}
  if tonumber(ARGV[index]) > stored then
    addEntry(base, ARGV[index], entry)
    redis.call('HINCRBY', about, 'size', #entry.text)
  end
end
if redis.call('HEXISTS', about, 'deleted') == 1 then expireConversation(base, ${WAITING_MS}) end`);

/**
 * Stores the job of a response with it, if that has not ended and has none: so it is enqueued again if the queue loses it.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: its jobs, JSON.
 */
export const KEEP_JOB = new LuaScript(`${RESPONSES}${RUNS}
if isOpen(ARGV[2], '') then redis.call('HSETNX', at(ARGV[2]), 'jobs', ARGV[3]) end`);
