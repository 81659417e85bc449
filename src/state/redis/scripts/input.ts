import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';

/** The reply of INPUT: comma-separated JSON texts; null when the response is not visible. */
export type InputReply = string | null;

/**
 * The input items of a visible response.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: within; ARGV[3]: the id. Returns an `InputReply`.
 */
export const INPUT: Script = {
  name: 'input',
  text: `${RESPONSES}
if not visible(ARGV[3], ARGV[2]) then return false end
return redis.call('GET', at(ARGV[3]) .. ':input') or ''`,
};
