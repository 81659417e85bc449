import type { Script } from '../script.js';

/**
 * Adds a turn to the sums of its tenant and day, once.
 *
 * KEYS: 1 hash of sums, 2 set of the response ids that are in it. ARGV: 1 response id, 2 name of the sum, 3 input, 4 cached, 5 output,
 * 6 reasoning tokens, 7 lifetime of the sums, ms, 8 lifetime of the ids, ms.
 */
export const RECORD_USAGE: Script = {
  name: 'record-usage',
  text: `if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[2], ARGV[8])
for field, value in pairs({ turns = 1, input = ARGV[3], cached = ARGV[4], output = ARGV[5], reasoning = ARGV[6] }) do
  redis.call('HINCRBY', KEYS[1], field .. ARGV[2], value)
end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 1`,
};
