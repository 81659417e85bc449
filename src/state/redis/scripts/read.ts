import { LuaScript } from '../script.js';
import { RESPONSES } from './responses.js';
/** The reply of READ for a visible response; null for any other. */
export type ReadReply = readonly [status: string, body: string, output: string | null] | null;

/**
 * Visible responses.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: within; from ARGV[3] on: ids. Returns a `ReadReply` for each.
 */
export const READ = new LuaScript(`${RESPONSES}
local replies = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local texts = visible(id, ARGV[2]) and redis.call('MGET', at(id) .. ':body', at(id) .. ':output')
  replies[#replies + 1] = texts and {redis.call('HGET', at(id), 'status'), texts[1], texts[2]} or false
end
return replies`);

/**
 * Functions in Lua about chains, after RESPONSES.
 *
 * - `pathTo(id)`: the ids up to and including a response, itself first, visible or not; the bytes of their items; and for a
 *   path that began in a conversation that and the position before its turn there, otherwise nil.
 * - `transcriptOf(path, from, earlier)`: the items of a path from an index on, the last of the path first, as JSON texts,
 *   after what a conversation had before.
 */
export const CHAINS = `
local function pathTo(id)
  local path, bytes, conversation, position = {}, 0, nil, nil
  while id do
    local known = redis.call('HMGET', at(id), 'parent', 'items_size', 'conversation', 'position')
    if not known[2] then break end
    path[#path + 1], bytes = id, bytes + known[2]
    if known[3] then conversation, position = known[3], known[4] end
    id = known[1]
  end
  return path, bytes, conversation, position
end

local function transcriptOf(path, from, earlier)
  local texts = {earlier ~= '' and earlier or nil}
  for i = #path, from, -1 do
    local key = at(path[i])
    local parts = redis.call('MGET', key .. ':inherited', key .. ':input', key .. ':between', key .. ':output')
    for part = 1, 3 do if parts[part] then texts[#texts + 1] = parts[part] end end
    if parts[4] and not parts[3] then texts[#texts + 1] = parts[4] end
  end
  return table.concat(texts, ',')
end
`;

/**
 * The reply of CHAIN; null when the response cannot be continued. `items` is null when they are too large. The sessions
 * are those that it belongs to as fields, only the one that it was made in if it still belongs to that.
 */
export type ChainReply =
  | readonly [
      items: string | null,
      origin: string | null,
      expiresAt: string,
      isInConversation: 0 | 1,
      ...memberships: readonly string[],
    ]
  | null;

/**
 * The whole transcript up to a response that may be continued, including ancestors that are no longer visible.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: within; ARGV[4]: most bytes. Returns a `ChainReply`.
 */
export const CHAIN = new LuaScript(`${RESPONSES}${CHAINS}
local id = ARGV[2]
if not visible(id, ARGV[3]) then return false end
local head = redis.call('HMGET', at(id), 'status', 'continuable', 'session', 'origin', 'expires')
if head[1] ~= 'completed' and head[1] ~= 'incomplete' or head[2] == '0' then return false end
local path, bytes, conversation, position = pathTo(id)
local left, earlier = ARGV[4] - bytes, ''
if left >= 0 and conversation then earlier = itemsUntil(conversation, position, left) end
local items = left >= 0 and earlier and transcriptOf(path, 1, earlier)
local reply = {items or false, head[4], head[5], conversation and 1 or 0}
local made = 'in:' .. head[3]
if redis.call('HEXISTS', at(id), made) == 1 then
  reply[#reply + 1] = made
else
  for _, field in ipairs(memberships(id)) do reply[#reply + 1] = field end
end
return reply`);

/** The reply of INPUT: comma-separated JSON texts; null when the response is not visible. */
export type InputReply = string | null;

/**
 * The input items of a visible response.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: within. Returns an `InputReply`.
 */
export const INPUT = new LuaScript(`${RESPONSES}
if not visible(ARGV[2], ARGV[3]) then return false end
return redis.call('GET', at(ARGV[2]) .. ':input') or ''`);
