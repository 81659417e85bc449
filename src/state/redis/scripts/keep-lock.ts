import type { Script } from '../script.js';
import { LOCKS } from './locks.js';

/**
 * Prolongs a lease, which may have expired, unless somebody else has acquired the lock. It renews a lease, and it pins one:
 * nobody acquires the lock while something is saved under it in another slot.
 *
 * KEYS: 1 lease, 2 fence. ARGV: 1 place, 2 fence of the lease, 3 how long it lasts at least, ms.
 * Returns whether it is not lost.
 */
export const KEEP_LOCK: Script = {
  name: 'keep-lock',
  text: `${LOCKS}
return keep_lock(ARGV[1], ARGV[2], ARGV[3]) and 1 or 0`,
};
