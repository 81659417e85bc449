import { FREES_MEMORY, Script } from '../script.js';
import { type GoneReply, HIDE } from './delete.js';
import { RESPONSES } from './responses.js';

/** A response that is freed, and the items that it held (`HeldItems.names`). */
export type Freed = readonly [id: string, held: string];

/** The reply of SWEEP. */
export type SweepReply = readonly [
  gone: GoneReply,
  freed: readonly Freed[],
  /** Those that have not expired, with the times when they do. */
  later: readonly (readonly [id: string, expiresAt: string])[],
  /** Those that are not stored. */
  missing: readonly string[],
];

/**
 * Hides responses that have expired, and frees those and the ones that were hidden before as far as nothing continues them, then
 * their ancestors for which that is true.
 *
 * KEYS[1]: the place. ARGV[1]: now; from ARGV[2] on: ids. Returns a `SweepReply`.
 */
export const SWEEP = new Script(`${FREES_MEMORY}${RESPONSES}${HIDE}
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
