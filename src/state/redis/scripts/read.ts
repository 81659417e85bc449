import { Script } from '../script.js';
import { RESPONSES } from './responses.js';
import { LOCKS } from './locks.js';

/** The reply of READ for a visible response; null for any other. */
export type ReadReply = readonly [status: string, body: string, output: string | null] | null;

/**
 * Visible responses.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: within; from ARGV[3] on: ids. Returns a `ReadReply` for each.
 */
export const READ = new Script(`${RESPONSES}
local replies = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local texts = visible(id, ARGV[2]) and redis.call('MGET', at(id) .. ':body', at(id) .. ':output')
  replies[#replies + 1] = texts and {redis.call('HGET', at(id), 'status'), texts[1], texts[2]} or false
end
return replies`);

/** The reply of INPUT: comma-separated JSON texts; null when the response is not visible. */
export type InputReply = string | null;

/**
 * The input items of a visible response.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: within; ARGV[3]: the id. Returns an `InputReply`.
 */
export const INPUT = new Script(`${RESPONSES}
if not visible(ARGV[3], ARGV[2]) then return false end
return redis.call('GET', at(ARGV[3]) .. ':input') or ''`);

/** What became of a save: `lost`, the lease; `unlinked`, the response that it continues is not stored. */
export type Saved = 'saved' | 'lost' | 'unlinked';

/**
 * Stores a response in a place, if the lease is the latest and the response that it continues is stored. One that is
 * stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the fence of the place's lock, empty when there is none to check;
 * from ARGV[3] on: the insertion. Returns `Saved`.
 */
export const SAVE = new Script(`${LOCKS}${RESPONSES}
local r = insertionAt(3)
if exists(r.id) then return 'saved' end
if ARGV[2] ~= '' and not has_lock(base, ARGV[2]) then return 'lost' end
if not linked(r) then return 'unlinked' end
insert(r)
return 'saved'`);
