import type { Script } from '../script.js';
import { LOCKS } from './locks.js';

/**
 * Acquires a lock that is free or whose lease has expired.
 *
 * KEYS: 1 lease, 2 fence. ARGV: 1 place, 2 holder, 3 duration of the lease, ms.
 * Returns the fence, or nil while somebody else has the lock.
 */
export const ACQUIRE_LOCK: Script = {
  name: 'acquire-lock',
  text: `${LOCKS}
return acquire_lock(ARGV[1], ARGV[2], ARGV[3])`,
};
