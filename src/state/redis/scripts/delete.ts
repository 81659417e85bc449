import { FREES_MEMORY, LuaScript } from '../script.js';
import { BOOKMARKS } from './bookmarks.js';
import { RESPONSES } from './responses.js';
/** Responses that are gone, each with the fields of the sessions that it belonged to. */
export type GoneReply = readonly (readonly [id: string, ...memberships: readonly string[]])[];

/**
 * A function in Lua, after RESPONSES: hides a response and returns what GoneReply has of it. Repeated, it returns the same. `left`: the
 * field of a session that it has just left, if there is one. BOOKMARKS is part of it.
 */
export const HIDE = `${BOOKMARKS}
local function hide(id, left)
  local fields = memberships(id)
  local gone = {id}
  for _, field in ipairs(fields) do gone[#gone + 1] = field end
  fields[#fields + 1] = left
  remember(id, fields)
  redis.call('HSET', at(id), 'expires', 0)
  redis.call('ZREM', base .. ':members', id)
  return gone
end
`;

/**
 * A function in Lua, after RESPONSES: whether a response is visible, or was when this call was made before: its connection
 * may have broken before the reply.
 */
export const VISIBLE_TO_CALL = `
local function visibleTo(call, id, within)
  return visible(id, within) or redis.call('HGET', at(id), 'by') == call
end
`;

/**
 * Hides a response and, if wanted, all visible responses that continue it. They stay until they are freed.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: within; ARGV[4]: 1 for those that continue it as well;
 * ARGV[5]: names the call, so that its repetition returns the same. Returns a `GoneReply`.
 */
export const DELETE = new LuaScript(`${FREES_MEMORY}${RESPONSES}${HIDE}${VISIBLE_TO_CALL}
local gone = {}
if not visibleTo(ARGV[5], ARGV[2], ARGV[3]) then return gone end
for _, id in ipairs(branch(ARGV[2], ARGV[4] == '1')) do
  if visibleTo(ARGV[5], id, ARGV[3]) then
    gone[#gone + 1] = hide(id)
    redis.call('HSET', at(id), 'by', ARGV[5])
  end
end
return gone`);

/** A response that is freed, and the items that it held (`HeldItems.names`). */
export type Freed = readonly [id: string, held: string];

/** The reply of SWEEP. */
export type SweepReply = readonly [
  gone: GoneReply,
  freed: readonly Freed[],
  /** Responses that have not expired, with the times when they do. */
  later: readonly (readonly [id: string, expiresAt: string])[],
  /** Ids of responses that are not stored. */
  missing: readonly string[],
];

/**
 * Hides responses that have expired, and frees those and the ones that were hidden before as far as nothing continues them, then
 * their ancestors for which that is true.
 *
 * KEYS[1]: the slot. ARGV[1]: now; from ARGV[2] on: ids. Returns a `SweepReply`.
 */
export const SWEEP = new LuaScript(`${FREES_MEMORY}${RESPONSES}${HIDE}
local gone, freed, later, missing = {}, {}, {}, {}
for i = 2, #ARGV do
  local expires = redis.call('HGET', at(ARGV[i]), 'expires')
  if not expires then
    missing[#missing + 1] = ARGV[i]
  elseif tonumber(expires) > now then
    later[#later + 1] = {ARGV[i], expires}
  elseif expires ~= '0' then
    gone[#gone + 1] = hide(ARGV[i])
  end
end
for i = #ARGV, 2, -1 do
  local id = ARGV[i]
  while id do
    local key = at(id)
    local known = redis.call('HMGET', key, 'expires', 'parent', 'conversation', 'held')
    if known[1] ~= '0' or redis.call('EXISTS', key .. ':children') == 1 then break end
    for _, part in ipairs(PARTS) do redis.call('UNLINK', key .. part) end
    freed[#freed + 1] = {id, known[4] or ''}
    if known[3] then leaveConversation(known[3]) end
    if known[2] then redis.call('ZREM', at(known[2]) .. ':children', id) end
    id = known[2]
  end
end
return {gone, freed, later, missing}`);
