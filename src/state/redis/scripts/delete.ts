import { FREES_MEMORY, Script } from '../script.js';
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
local function visible_to(call, id, within)
  return visible(id, within) or redis.call('HGET', at(id), 'by') == call
end
`;

/**
 * Hides a response and, if wanted, all visible responses that continue it. They stay until they are freed.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: within; ARGV[3]: the id; ARGV[4]: 1 for those that continue it as well;
 * ARGV[5]: names the call, so that its repetition returns the same. Returns a `GoneReply`.
 */
export const DELETE = new Script(`${FREES_MEMORY}${RESPONSES}${HIDE}${VISIBLE_TO_CALL}
local gone = {}
if not visible_to(ARGV[5], ARGV[3], ARGV[2]) then return gone end
for _, id in ipairs(branch(ARGV[3], ARGV[4] == '1')) do
  if visible_to(ARGV[5], id, ARGV[2]) then
    gone[#gone + 1] = hide(id)
    redis.call('HSET', at(id), 'by', ARGV[5])
  end
end
return gone`);
