import type { Script } from '../script.js';

/**
 * Adds an entry to an index, which lives at least as long as the entry.
 *
 * KEYS[1]: a sorted set. ARGV[1]: how long the entry is of use, ms; ARGV[2]: its score; ARGV[3]: the entry.
 */
export const ENTER: Script = {
  name: 'enter',
  text: `
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[3])
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end`,
};
