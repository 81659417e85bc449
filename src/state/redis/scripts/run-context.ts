import type { Script } from '../script.js';
import { CHAINS } from './chain.js';
import { RESPONSES } from './responses.js';

/**
 * What a run works with: its input, and the items before it; comma-separated JSON texts, in order. `tooLarge` has the
 * rest empty. `origin` and `expires` are of the response that it continues.
 */
export type RunContext = readonly [
  tooLarge: 0 | 1,
  input: string | null,
  context: string,
  origin: string | null,
  expires: string | null,
  isInConversation: 0 | 1,
];

/**
 * The items before the output of a run, those of deleted ancestors included, and the response that it continues.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: most bytes. Returns `RunContext`, or nil when the
 * response is not stored any more.
 */
export const RUN_CONTEXT: Script = {
  name: 'run-context',
  text: `${RESPONSES}${CHAINS}
local id = ARGV[2]
if not exists(id) then return nil end
local path, bytes, conversation, position = path_to(id)
local left, earlier = ARGV[3] - bytes, ''
if left >= 0 and conversation then earlier = itemsUntil(conversation, position, left) end
if left < 0 or not earlier then return {1, false, '', false, false, 0} end
local context, own = transcript_of(path, 2, earlier), redis.call('MGET', at(id) .. ':inherited', at(id) .. ':input')
if own[1] then context = (context == '' and '' or context .. ',') .. own[1] end
local parent = path[2] and redis.call('HMGET', at(path[2]), 'origin', 'expires') or {false, false}
return {0, own[2], context, parent[1], parent[2], conversation and 1 or 0}`,
};
