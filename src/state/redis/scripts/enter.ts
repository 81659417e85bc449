import type { Script } from '../script.js';

/**
 * Adds entries to an index, which lives at least as long as they are of use.
 *
 * KEYS[1]: a sorted set. ARGV[1]: how long they are of use, ms; from ARGV[2] on: scores and entries in turn.
 */
export const ENTER: Script = {
  name: 'enter',
  text: `
redis.call('ZADD', KEYS[1], unpack(ARGV, 2))
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end`,
};
