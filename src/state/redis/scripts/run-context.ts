import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';

/**
 * What a run works with: its input, and the items before it; comma-separated JSON texts, in order. `tooLarge` has the
 * rest empty. `origin` and `expires` are of the response that it continues.
 */
export type RunContext = readonly [
  tooLarge: 0 | 1,
  input: string | null,
  context: readonly string[],
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
  text: `${RESPONSES}
local most, path, size, id = tonumber(ARGV[3]), {}, 0, ARGV[2]
local TOO_LARGE = {1, false, {}, false, false, 0}
if not exists(id) then return nil end
local conversation, position
while id do
  local known = redis.call('HMGET', at(id), 'items_size', 'parent', 'conversation', 'position')
  if not known[1] then break end
  path[#path + 1] = id
  size = size + tonumber(known[1])
  if known[3] then conversation, position = known[3], known[4] end
  id = known[2]
end
if size > most then return TOO_LARGE end
local context = {}
if conversation then
  local items = itemsUntil(conversation, position, most - size)
  if not items then return TOO_LARGE end
  if items ~= '' then context[1] = items end
end
local function add(id, part)
  local text = redis.call('GET', at(id) .. part)
  if text then context[#context + 1] = text end
  return text
end
for index = #path, 2, -1 do
  add(path[index], ':inherited')
  add(path[index], ':input')
  if not add(path[index], ':between') then add(path[index], ':output') end
end
add(path[1], ':inherited')
local parent = path[2] and redis.call('HMGET', at(path[2]), 'origin', 'expires') or {false, false}
return {0, redis.call('GET', at(path[1]) .. ':input'), context, parent[1], parent[2], conversation and 1 or 0}`,
};
