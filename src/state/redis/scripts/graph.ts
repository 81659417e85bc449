import { PAGE_BYTES } from '../../page.js';
import { GRAPH_MAX_RESPONSES } from '../../response-graph.js';
import { LuaScript } from '../script.js';
import { RESPONSES } from './responses.js';

/** A function in Lua, after RESPONSES: calls `visit` with each visible child, in order, until that returns true. */
const EACH_CHILD = `
local function eachChild(id, within, visit)
  local start = 0
  while true do
    local children = redis.call('ZRANGE', at(id) .. ':children', start, start + 99)
    for _, child in ipairs(children) do
      if visible(child, within) and visit(child) then return end
    end
    if #children < 100 then return end
    start = start + 100
  end
end
`;

/** The reply of LEAVES: ids, times of creation in seconds, and sizes in bytes, in turn; null when the response is not visible. */
export type LeavesReply = readonly string[] | 'too large' | null;

/**
 * The leaves of all branches from a response on.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: within. Returns a `LeavesReply`.
 */
export const LEAVES = new LuaScript(`${RESPONSES}${EACH_CHILD}
if not visible(ARGV[2], ARGV[3]) then return false end
local walked, leaves, i = {ARGV[2]}, {}, 1
while walked[i] and #walked <= ${GRAPH_MAX_RESPONSES} do
  local id, before = walked[i], #walked
  eachChild(id, ARGV[3], function(child)
    walked[#walked + 1] = child
    return #walked > ${GRAPH_MAX_RESPONSES}
  end)
  if #walked == before then
    local known = redis.call('HMGET', at(id), 'created', 'size')
    leaves[#leaves + 1] = id
    leaves[#leaves + 1] = known[1]
    leaves[#leaves + 1] = known[2]
  end
  i = i + 1
end
if #walked > ${GRAPH_MAX_RESPONSES} then return 'too large' end
return leaves`);

/** The reply of TREE: the root first, level by level; null when the response is not visible. */
export type TreeReply = readonly TreeRow[] | 'too large' | null;

/** A response of the tree. The parent of the root is null. */
type TreeRow = readonly [
  id: string,
  parentId: string | null,
  hasMore: 0 | 1,
  status: string,
  body: string,
  output: string | null,
];

/**
 * The tree of a response, from its earliest visible ancestor on.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: within; ARGV[4]: levels below the root; ARGV[5]: most
 * responses. Returns a `TreeReply`.
 */
export const TREE = new LuaScript(`${RESPONSES}${EACH_CHILD}
local within, depth, limit = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local root, climbed = ARGV[2], 1
if not visible(root, within) then return false end
while true do
  local parent = redis.call('HGET', at(root), 'parent')
  if not parent or not visible(parent, within) then break end
  if climbed == ${GRAPH_MAX_RESPONSES} then return 'too large' end
  root, climbed = parent, climbed + 1
end

local shown, levels, parents, i = {root}, {0}, {false}, 1
while shown[i] and #shown < limit do
  local id, level = shown[i], levels[i]
  if level < depth then
    eachChild(id, within, function(child)
      shown[#shown + 1], levels[#levels + 1], parents[#parents + 1] = child, level + 1, id
      return #shown == limit
    end)
  end
  i = i + 1
end

local bytes, fitting, included = 0, 0, {}
for place, id in ipairs(shown) do
  bytes = bytes + redis.call('HGET', at(id), 'size')
  if place > 1 and bytes > ${PAGE_BYTES} then break end
  fitting = place
  if parents[place] then included[parents[place]] = (included[parents[place]] or 0) + 1 end
end

local rows = {}
for place = 1, fitting do
  local id, seen, hasMore = shown[place], 0, 0
  eachChild(id, within, function()
    seen = seen + 1
    if seen > (included[id] or 0) then hasMore = 1 end
    return hasMore == 1
  end)
  local texts = redis.call('MGET', at(id) .. ':body', at(id) .. ':output')
  rows[place] = {id, parents[place], hasMore, redis.call('HGET', at(id), 'status'), texts[1], texts[2]}
end
return rows`);
