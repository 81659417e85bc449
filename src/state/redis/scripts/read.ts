import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';

/** The reply of READ for a visible response; null for any other. */
export type ReadReply = readonly [status: string, body: string, output: string | null] | null;

/**
 * Visible responses.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: within; from ARGV[3] on: ids. Returns a `ReadReply` for each.
 */
export const READ: Script = {
  name: 'read',
  text: `${RESPONSES}
local replies = {}
for i = 3, #ARGV do
  local id = ARGV[i]
  local texts = visible(id, ARGV[2]) and redis.call('MGET', at(id) .. ':body', at(id) .. ':output')
  replies[#replies + 1] = texts and {redis.call('HGET', at(id), 'status'), texts[1], texts[2]} or false
end
return replies`,
};
