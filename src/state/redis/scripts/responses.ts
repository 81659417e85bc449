import { NEVER } from '../../background-runs.js';
import { CONVERSATIONS } from './conversations.js';
import { GRACE_MS, LIVE, LONGEST_MS, UNFINISHED_MS } from './indexes.js';

/**
 * Functions in Lua about the responses of one slot, for scripts to begin with. `KEYS[1]`: `SlotKeys.base`.
 * `ARGV[1]`: the time, ms since the epoch. Ids are as of `toKey`; `within` is the field `in:<session>` that a
 * response must have to be visible, or an empty text.
 *
 * A response is kept until its field `until`, which is not before its expiry and not before `until` of a response that
 * continues it: a chain is whole as long as its last response is there, also when nobody purges. One that was made in a
 * conversation has the fields `conversation`, the base of its slot, and `position`, after which its turn was appended.
 * `held` names the items that it shows (`HeldItems`). `by` names the latest call that deleted it or took it out of a session.
 */
export const RESPONSES = `${LIVE}${CONVERSATIONS}
local base, now = KEYS[1], tonumber(ARGV[1])
local PARTS = {'', ':body', ':input', ':inherited', ':output', ':between', ':turn', ':children', ':log'}

local function at(id) return base .. ':r:' .. id end

local function exists(id) return redis.call('EXISTS', at(id)) == 1 end

local function lifetime(keptUntil)
  return whole(math.max(0, keptUntil - now) + ${GRACE_MS})
end

local function keep(id, keptUntil)
  local ms = lifetime(keptUntil)
  redis.call('HSET', at(id), 'until', whole(keptUntil))
  for _, part in ipairs(PARTS) do redis.call('PEXPIRE', at(id) .. part, ms) end
  local conversation = redis.call('HGET', at(id), 'conversation')
  if conversation then keepConversation(conversation, keptUntil, now) end
end

-- Has a response and its ancestors kept until a time. Those of one that is kept long enough are, too.
local function extend(id, keptUntil)
  while id do
    local known = redis.call('HMGET', at(id), 'until', 'parent')
    if not known[1] or tonumber(known[1]) >= keptUntil then return end
    keep(id, keptUntil)
    id = known[2]
  end
end

local function visible(id, within)
  local known = redis.call('HMGET', at(id), 'expires', within)
  return known[1] and tonumber(known[1]) > now and (within == '' or known[2]) and true or false
end

-- A response and, if wanted, all that continue it, each before those that continue it.
local function branch(id, wanted)
  local ids, i = {id}, 1
  while wanted and ids[i] do
    for _, child in ipairs(redis.call('ZRANGE', at(ids[i]) .. ':children', 0, -1)) do ids[#ids + 1] = child end
    i = i + 1
  end
  return ids
end

-- The fields of the sessions of a response.
local function memberships(id)
  local fields = {}
  for _, field in ipairs(redis.call('HKEYS', at(id))) do
    if string.sub(field, 1, 3) == 'in:' then fields[#fields + 1] = field end
  end
  return fields
end

-- An insertion that is written from ARGV[start] on (../insertion.ts), and the position after it.
local function insertionAt(start)
  local r = {id = ARGV[start], parent = ARGV[start + 1] ~= '' and string.sub(ARGV[start + 1], 2), created = ARGV[start + 2], isMember = ARGV[start + 5] == '1'}
  r.expires, r.slack = tonumber(ARGV[start + 3]), tonumber(ARGV[start + 4])
  local next = start + 7
  r.fields = {unpack(ARGV, next, next + ARGV[start + 6] - 1)}
  next = next + ARGV[start + 6]
  r.firstText, r.lastText = next + 1, next + ARGV[next]
  return r, r.lastText + 1
end

-- Whether the response that it continues, if any, is stored, visible or not.
local function linked(r) return not r.parent or exists(r.parent) end

-- Stores a response that is not stored and is linked.
local function insert(r)
  -- Keys have no longer life: one that has not ended is as if it expired in a year.
  local needed = r.expires >= ${NEVER} and now + ${LONGEST_MS} or r.expires
  local key, keptUntil = at(r.id), needed + r.slack
  if r.parent then
    local ofParent = tonumber(redis.call('HGET', at(r.parent), 'until'))
    redis.call('ZADD', at(r.parent) .. ':children', r.created, r.id)
    if needed > ofParent then
      extend(r.parent, keptUntil)
    else
      keptUntil = math.min(keptUntil, ofParent)
      redis.call('PEXPIRE', at(r.parent) .. ':children', lifetime(ofParent))
    end
    redis.call('HSET', key, 'parent', r.parent)
  end
  local ms = lifetime(keptUntil)
  redis.call('HSET', key, 'created', r.created, 'expires', whole(r.expires), 'until', whole(keptUntil), unpack(r.fields))
  redis.call('PEXPIRE', key, ms)
  for i = r.firstText, r.lastText, 2 do redis.call('SET', key .. ARGV[i], ARGV[i + 1], 'PX', ms) end
  if r.isMember then
    redis.call('ZADD', base .. ':members', r.created, r.id)
    -- The list is renewed while the response has not ended, and then once more.
    live(base .. ':members', r.expires >= ${NEVER} and ${UNFINISHED_MS} or ms)
  end
end

-- Gives a response that nothing continues another expiry, and its texts with it.
local function settle(id, expires, slack)
  local known = redis.call('HGET', at(id), 'parent')
  local keptUntil = expires + slack
  if known then
    local ofParent = redis.call('HGET', at(known), 'until')
    if ofParent and expires > tonumber(ofParent) then extend(known, keptUntil)
    elseif ofParent then keptUntil = math.min(keptUntil, tonumber(ofParent)) end
  end
  redis.call('HSET', at(id), 'expires', whole(expires))
  keep(id, keptUntil)
end
`;
