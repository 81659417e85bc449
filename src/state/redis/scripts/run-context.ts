import type { Script } from '../script.js';
import { RESPONSES } from './responses.js';

/**
 * What a run works with. No input: the response is not stored any more. `tooLarge` has the rest empty. Items are
 * comma-separated JSON texts; those of the context begin with the earliest response.
 */
export type RunContext = readonly [
  tooLarge: 0 | 1,
  input: string,
  context: readonly string[],
  origin: string | null,
  expires: string | null,
  conversations: number,
];

/**
 * The items before the output of a run, those of deleted ancestors included, and the response that it continues.
 *
 * KEYS[1]: the place. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: most bytes. Returns `RunContext`, or nil.
 */
export const RUN_CONTEXT: Script = {
  name: 'run-context',
  text: `${RESPONSES}
local path, size, id = {}, 0, ARGV[2]
if not exists(id) then return nil end
while id do
  local known = redis.call('HMGET', at(id), 'items_size', 'parent')
  if not known[1] then break end
  path[#path + 1] = id
  size = size + tonumber(known[1])
  id = known[2]
end
if size > tonumber(ARGV[3]) then return {1, '', {}, false, false, 0} end
local context = {}
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
return {0, redis.call('GET', at(path[1]) .. ':input') or '', context, parent[1], parent[2], 0}`,
};
