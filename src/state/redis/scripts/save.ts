import type { Script } from '../script.js';
import { LOCKS } from './locks.js';
import { RESPONSES } from './responses.js';

/** What became of a save: `lost`, the lease; `unlinked`, the response that it continues is not stored. */
export type Saved = 'saved' | 'lost' | 'unlinked';

/**
 * Stores a response in a place, if the lease is the latest and the response that it continues is stored. One that is
 * stored already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the fence of the place's lock, empty when there is none to check;
 * from ARGV[3] on: the insertion. Returns `Saved`.
 */
export const SAVE: Script = {
  name: 'save',
  text: `${LOCKS}${RESPONSES}
local r = insertionAt(3)
if exists(r.id) then return 'saved' end
if ARGV[2] ~= '' and not has_lock(base, ARGV[2]) then return 'lost' end
if not linked(r) then return 'unlinked' end
insert(r)
return 'saved'`,
};
