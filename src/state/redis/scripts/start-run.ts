import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';

/** An attempt that has begun. */
export type Started = readonly [turn: string, attempts: string, status: string, session: string, parent: string | null];

/**
 * Begins an attempt, unless a later one has begun.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt; ARGV[4]: names the call, so that its
 * repetition finds that it has begun. Returns `Started`, or nil.
 */
export const START_RUN: Script = {
  name: 'start-run',
  text: `${RESPONSES}${RUNS}
local id, attempt = ARGV[2], tonumber(ARGV[3])
if not isOpen(id, '') then return nil end
local known = redis.call('HMGET', at(id), 'attempt', 'call')
if known[2] ~= ARGV[4] then
  if tonumber(known[1]) >= attempt then return nil end
  redis.call('HSET', at(id), 'attempt', ARGV[3], 'call', ARGV[4])
  redis.call('HINCRBY', at(id), 'attempts', 1)
end
local run = redis.call('HMGET', at(id), 'attempts', 'status', 'session', 'parent')
return {redis.call('GET', at(id) .. ':turn'), run[1], run[2], run[3], run[4]}`,
};

/**
 * Does not count an attempt, once.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt.
 */
export const HAND_BACK: Script = {
  name: 'hand-back',
  text: `${RESPONSES}${RUNS}
local id = ARGV[2]
if not isOpen(id, ARGV[3]) or redis.call('HGET', at(id), 'handed') == ARGV[3] then return end
redis.call('HSET', at(id), 'handed', ARGV[3])
redis.call('HINCRBY', at(id), 'attempts', -1)`,
};
