import { FREES_MEMORY, Script } from '../script.js';
import { type GoneReply, HIDE, VISIBLE_TO_CALL } from './delete.js';
import { RESPONSES } from './responses.js';
/**
 * Adds visible responses to a session.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the field of the session; from ARGV[3] on: ids. Returns the number of those
 * that are in it.
 */
export const JOIN = new Script(`${RESPONSES}
local joined = 0
for i = 3, #ARGV do
  if visible(ARGV[i], '') then
    redis.call('HSET', at(ARGV[i]), ARGV[2], 1)
    joined = joined + 1
  end
end
return joined`);

/** The reply of LEAVE: those that are gone, and all visible ones that were in the session. */
export type LeaveReply = readonly [gone: GoneReply, left: readonly string[]];

/**
 * Takes responses out of a session, and hides those that belong to no other one.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the field of the session; ARGV[3]: names the call, so that its
 * repetition returns the same; from ARGV[4] on: ids. Returns a `LeaveReply`.
 */
export const LEAVE = new Script(`${FREES_MEMORY}${RESPONSES}${HIDE}${VISIBLE_TO_CALL}
local gone, left = {}, {}
for i = 4, #ARGV do
  local id = ARGV[i]
  if visibleTo(ARGV[3], id, ARGV[2]) then
    left[#left + 1] = id
    redis.call('HSET', at(id), 'by', ARGV[3])
    redis.call('HDEL', at(id), ARGV[2])
    if #memberships(id) == 0 then gone[#gone + 1] = hide(id, ARGV[2]) end
  end
end
return {gone, left}`);
