import { FREES_MEMORY, NUMBERS, LuaScript } from '../script.js';
import { GRACE_MS } from './indexes.js';
import { LOCKS } from './locks.js';
/**
 * Lua functions about the conversation of a slot, for scripts to begin with. `base` is what the keys of the slot begin with:
 *
 * - `:conversation`, a hash: `created` (Unix seconds), `metadata` (JSON), `name` (`conversationName`), `version`, `size` (bytes of its items), `last` (position of
 *   the latest item), `responses` (how many were made in it), `until` (the latest of them is kept until then, ms since the
 *   epoch), `change` (names the latest change of its items: a call of a client, or the response of a turn), and `deleted` once it is.
 * - `:items`, a stream whose entry `<position>-0` has one field: `item`, or `given` where clients do not see it.
 * - `:gone-item:<id>`, a string: the position of a deleted item, and until when that counts, ms since the epoch.
 * - `:item-ids`, a hash from the JSON of an item's id to its positions, those of given items with `g`: `3 g7`.
 *
 * Entries that are added are tables with `kind` (`item` or `given`), `id` (JSON) and `text`.
 */
export const CONVERSATIONS = `${NUMBERS}
-- The conversation: its version, size and latest change; nil when it is not found.
local function findConversation(base)
  local found = redis.call('HMGET', base .. ':conversation', 'version', 'size', 'deleted', 'change')
  if not found[1] or found[3] then return nil end
  return { version = tonumber(found[1]), size = tonumber(found[2]), change = found[4] or '' }
end

-- Adds an entry at a position, a string, after all others.
local function addEntry(base, position, entry)
  redis.call('XADD', base .. ':items', position .. '-0', entry.kind, entry.text)
  local place = entry.kind == 'given' and 'g' .. position or position
  local others = redis.call('HGET', base .. ':item-ids', entry.id)
  redis.call('HSET', base .. ':item-ids', entry.id, others and others .. ' ' .. place or place)
end

-- Appends entries; the version becomes another one. Returns the position before them.
local function addEntries(base, entries)
  local about = base .. ':conversation'
  local start, size = tonumber(redis.call('HGET', about, 'last') or 0), 0
  for index, entry in ipairs(entries) do
    addEntry(base, tostring(start + index), entry)
    size = size + #entry.text
  end
  redis.call('HINCRBY', about, 'version', 1)
  redis.call('HINCRBY', about, 'size', size)
  redis.call('HSET', about, 'last', start + #entries)
  return start
end

-- The positions at which clients see an item, oldest first, and those at which they do not.
local function positionsOf(base, id)
  local seen, given = {}, {}
  for mark, position in string.gmatch(redis.call('HGET', base .. ':item-ids', id) or '', '(g?)(%d+)') do
    table.insert(mark == 'g' and given or seen, position)
  end
  return seen, given
end

-- The items up to a position ('+' for all) as comma-separated JSON, and their bytes; nil when they have more than max.
local function itemsUntil(base, position, max)
  local texts, size, start = {}, 0, '-'
  repeat
    local batch = redis.call('XRANGE', base .. ':items', start, position, 'COUNT', 32)
    for _, entry in ipairs(batch) do
      local text = entry[2][2]
      size = size + #text
      if size > max then return nil end
      texts[#texts + 1] = text
      start = '(' .. entry[1]
    end
  until #batch < 32
  return table.concat(texts, ','), size
end

-- Why a turn may not be appended: 'lost', 'deleted' or 'changed'; nil when it may. Needs LOCKS.
local function turnRefusal(base, fence, version)
  if fence ~= '' and not hasLock(base, fence) then return 'lost' end
  local conversation = findConversation(base)
  if not conversation then return 'deleted' end
  if conversation.version ~= tonumber(version) then return 'changed' end
  return nil
end

-- Deleted conversations also go by themselves, when no response needs them any more.
local function expireConversation(base, ms)
  for _, key in ipairs({':conversation', ':items', ':item-ids'}) do
    redis.call('PEXPIRE', base .. key, whole(math.max(ms, 0) + ${GRACE_MS}))
  end
end

-- A response needs the items until a time: its own, or that of what continues it. Times in ms since the epoch.
local function keepConversation(base, keptUntil, now)
  local about = base .. ':conversation'
  local state = redis.call('HMGET', about, 'until', 'deleted', 'created')
  if not state[3] or keptUntil <= tonumber(state[1] or 0) then return end
  redis.call('HSET', about, 'until', whole(keptUntil))
  if state[2] then expireConversation(base, keptUntil - now) end
end

-- Appends the turn of a response. Returns what that remembers, as fields of its hash: the conversation, and the position
-- at which its context ends. Then comes keepConversation.
local function addTurn(base, id, entries)
  redis.call('HINCRBY', base .. ':conversation', 'responses', 1)
  redis.call('HSET', base .. ':conversation', 'change', id)
  return 'conversation', base, 'position', addEntries(base, entries)
end

local function freeConversation(base)
  redis.call('UNLINK', base .. ':conversation', base .. ':items', base .. ':item-ids')
end

-- Nobody finds the conversation any more. It is freed, unless a response needs it.
local function hideConversation(base, now)
  local about = base .. ':conversation'
  local state = redis.call('HMGET', about, 'responses', 'until')
  if tonumber(state[1] or 0) <= 0 then return freeConversation(base) end
  redis.call('HSET', about, 'deleted', 1)
  expireConversation(base, tonumber(state[2]) - now)
end

-- A response that was made in the conversation is freed; a deleted conversation goes with the last one.
local function leaveConversation(base)
  local about = base .. ':conversation'
  if redis.call('EXISTS', about) == 0 then return end
  local responses = redis.call('HINCRBY', about, 'responses', -1)
  if responses <= 0 and redis.call('HEXISTS', about, 'deleted') == 1 then freeConversation(base) end
end

-- The entries of a call: ARGV[first] is their number, and each is three arguments. Returns also the index after them.
local function entriesFrom(first)
  local entries, count = {}, tonumber(ARGV[first])
  for index = 0, count - 1 do
    local at = first + 1 + index * 3
    entries[index + 1] = { kind = ARGV[at], id = ARGV[at + 1], text = ARGV[at + 2] }
  end
  return entries, first + 1 + count * 3
end
`;

/**
 * Stores a conversation, once.
 *
 * KEYS[1]: its slot. ARGV[1]: when it was created, Unix seconds; ARGV[2]: its metadata, JSON; ARGV[3]: its name (`conversationName`);
 * from ARGV[4] on: its items.
 */
export const CREATE_CONVERSATION = new LuaScript(`${CONVERSATIONS}
local base = KEYS[1]
if redis.call('EXISTS', base .. ':conversation') == 1 then return end
redis.call('HSET', base .. ':conversation', 'created', ARGV[1], 'metadata', ARGV[2], 'name', ARGV[3])
addEntries(base, entriesFrom(4))`);

/**
 * Replaces the metadata of a conversation.
 *
 * KEYS[1]: its slot. ARGV[1]: the metadata, JSON. Returns when it was created, Unix seconds; nil when it is not found.
 */
export const UPDATE_CONVERSATION = new LuaScript(`${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return nil end
redis.call('HSET', base .. ':conversation', 'metadata', ARGV[1])
return redis.call('HGET', base .. ':conversation', 'created')`);

/**
 * Hides a conversation; nothing is appended to it any more. It is freed at once, or with the last response that was made in it.
 *
 * KEYS[1]: its slot. ARGV[1]: now, ms since the epoch. Returns the ids of its items, JSON; nil when it is not found.
 */
export const DELETE_CONVERSATION = new LuaScript(`${FREES_MEMORY}${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return nil end
local ids = redis.call('HKEYS', base .. ':item-ids')
hideConversation(base, tonumber(ARGV[1]))
return ids`);

/** A conversation that was read, or why it was not. `items` is null when they are known; `fence` when the lock was not wanted. */
export type ConversationRead =
  | readonly [outcome: 'read', version: number, change: string, items: string | null, fence: string | null]
  | readonly [outcome: 'not_found' | 'locked' | 'too_large'];

/**
 * Reads the items of a conversation and, if wanted, takes its lock.
 *
 * KEYS[1]: its slot. ARGV[1]: most bytes of items; to take the lock ARGV[2]: how long the lease lasts, ms; ARGV[3]: names the call, so
 * that its repetition finds its own lease; ARGV[4]: the version whose items are known, or nothing; ARGV[5]: the change that made it. Returns
 * `ConversationRead`.
 */
export const READ_CONVERSATION = new LuaScript(`${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
local conversation = findConversation(base)
if not conversation then return {'not_found'} end
local isNew = conversation.version ~= tonumber(ARGV[4]) or conversation.change ~= ARGV[5]
if isNew and conversation.size > tonumber(ARGV[1]) then return {'too_large'} end
local fence = ARGV[2] and acquireLock(base, ARGV[3], ARGV[2])
if ARGV[2] and not fence then return {'locked'} end
local items = isNew and itemsUntil(base, '+', conversation.size)
return {'read', conversation.version, conversation.change, items, fence or false}`);

/** What became of an addition; with the id of an item, JSON, that is there already. */
export type Appended =
  readonly [outcome: 'appended' | 'not_found' | 'locked'] | readonly [outcome: 'duplicate_item', id: string];

/**
 * Adds items of a client to a conversation. A turn whose lease has expired is not saved any more.
 *
 * KEYS[1]: its slot. ARGV[1]: names the call, so that its repetition does nothing; from ARGV[2] on: the items. Returns `Appended`.
 */
export const APPEND_ITEMS = new LuaScript(`${LOCKS}${CONVERSATIONS}
local base = KEYS[1]
if not findConversation(base) then return {'not_found'} end
if redis.call('HGET', base .. ':conversation', 'change') == ARGV[1] then return {'appended'} end
if isLocked(base) then return {'locked'} end
local entries = entriesFrom(2)
for _, entry in ipairs(entries) do
  if redis.call('HEXISTS', base .. ':item-ids', entry.id) == 1 then return {'duplicate_item', entry.id} end
end
addEntries(base, entries)
redis.call('HSET', base .. ':conversation', 'change', ARGV[1])
voidLock(base)
return {'appended'}`);
