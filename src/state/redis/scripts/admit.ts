import type { Script } from '../script.js';

/** Which bound is reached, if any. */
export type Admitted = 'admitted' | 'total' | 'perTenant';

/**
 * Enters a response into the queue if the bounds allow it.
 *
 * KEYS: 1 the queued ones of all, 2 of the tenant, 3 the outbox. ARGV: 1 the entry; 2 when it was created, ms; 3 when
 * the outbox is looked at, ms; 4 most of all, 5 most of the tenant; 6 how long the lists are of use, ms. Returns `Admitted`.
 */
export const ADMIT: Script = {
  name: 'admit',
  text: `
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 'total' end
  if redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[5]) then return 'perTenant' end
end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[1])
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, ARGV[6]) end
return 'admitted'`,
};
