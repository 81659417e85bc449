import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';

/**
 * Appends a batch if the attempt is the latest and the response has not ended. One that begins leaves the queue.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt; ARGV[4] to ARGV[7]: the batch;
 * ARGV[8]: 1 when it begins. Returns whether the run may write.
 */
export const APPEND: Script = {
  name: 'append',
  text: `${RESPONSES}${RUNS}
local id = ARGV[2]
if not isOpen(id, ARGV[3]) then return 0 end
addBatch(id, 4)
if ARGV[8] == '1' and redis.call('HGET', at(id), 'status') == 'queued' then
  redis.call('HSET', at(id), 'status', 'in_progress')
end
return 1`,
};
