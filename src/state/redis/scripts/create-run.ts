import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';
import type { Saved } from './save.js';

/** What became of a creation. */
export type Created = Exclude<Saved, 'lost'>;

/**
 * Stores a queued response with its first events, if the response that it continues is stored. One that is stored
 * already stays as it is: the script may be repeated.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2] to ARGV[5]: the first batch; from ARGV[6] on: the insertion. Returns `Created`.
 */
export const CREATE_RUN: Script = {
  name: 'create-run',
  text: `${RESPONSES}${RUNS}
local r = insertionAt(6)
if exists(r.id) then return 'saved' end
if not linked(r) then return 'unlinked' end
insert(r)
addBatch(r.id, 2)
return 'saved'`,
};
