import { FREES_MEMORY, Script } from '../script.js';
import { HIDE } from './delete.js';
import { RESPONSES } from './responses.js';

/** A response that is freed, and the items that it held (`HeldItems.names`). */
export type Freed = readonly [id: string, held: string];

/**
 * A function in Lua, after RESPONSES: frees a hidden response that nothing continues, and then its ancestors for which
 * the same is true; adds a `Freed` for each to a list.
 */
const FREE_UP = `
local function free(id, freed)
  while id do
    local key = at(id)
    local known = redis.call('HMGET', key, 'expires', 'parent', 'conversation', 'held')
    if known[1] ~= '0' or redis.call('EXISTS', key .. ':children') == 1 then return end
    for _, part in ipairs(PARTS) do redis.call('UNLINK', key .. part) end
    freed[#freed + 1] = {id, known[4] or ''}
    if known[3] then leaveConversation(known[3]) end
    if known[2] then redis.call('ZREM', at(known[2]) .. ':children', id) end
    id = known[2]
  end
end
`;

/**
 * Frees hidden responses as far as nothing continues them.
 *
 * KEYS[1]: the place. ARGV[1]: now; from ARGV[2] on: ids. Returns a `Freed` for each that is freed.
 */
export const FREE = new Script(`${FREES_MEMORY}${RESPONSES}${FREE_UP}
local freed = {}
for i = #ARGV, 2, -1 do free(ARGV[i], freed) end
return freed`);

/** The reply of SWEEP. */
export type SweepReply = readonly [
  gone: readonly (readonly [id: string, ...memberships: readonly string[]])[],
  freed: readonly Freed[],
  /** Those that have not expired, with the times when they do. */
  later: readonly (readonly [id: string, expiresAt: string])[],
  /** Those that are not stored. */
  missing: readonly string[],
];

/**
 * Hides responses that have expired, and frees them as far as nothing continues them.
 *
 * KEYS[1]: the place. ARGV[1]: now; from ARGV[2] on: ids. Returns a `SweepReply`.
 */
export const SWEEP = new Script(`${FREES_MEMORY}${RESPONSES}${HIDE}${FREE_UP}
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
for i = #ARGV, 2, -1 do free(ARGV[i], freed) end
return {gone, freed, later, missing}`);
