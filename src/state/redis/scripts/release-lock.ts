import { FREES_MEMORY, type Script } from '../script.js';
import { LOCKS } from './locks.js';

/**
 * Gives a lock back.
 *
 * KEYS: 1 lease, 2 fence. ARGV: 1 place, 2 fence of the lease.
 */
export const RELEASE_LOCK: Script = {
  name: 'release-lock',
  text: `${FREES_MEMORY}${LOCKS}
release_lock(ARGV[1], ARGV[2])`,
};
