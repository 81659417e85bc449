import { BOOKMARK_MS } from '../../bookmark.js';
import { GRAPH_MAX_RESPONSES } from '../../response-graph.js';
import { LuaScript } from '../script.js';
import { GRACE_MS } from './indexes.js';
import { RESPONSES } from './responses.js';

/** What is remembered of a response that is gone, JSON; texts are as its hash has them. */
export interface BookmarkText {
  readonly created: string;
  readonly parent: string | false;
  readonly model: string;
  readonly status: string;
  readonly labels: string | false;
  /** The fields of its sessions, a line each. */
  readonly memberships: string;
  /** Until when it counts, ms since the epoch. */
  readonly until: string;
}

/**
 * Functions in Lua about bookmarks, after RESPONSES. That of a response is the string `:gone:<id>` of its slot.
 *
 * - `bookmark(id, goneAt, fields)`: the `BookmarkText` of a stored response that is gone since a time and was in some sessions.
 * - `remember(id, fields)`: remembers a response that is about to be hidden; repeated, it does the same.
 */
export const BOOKMARKS = `
local function bookmark(id, goneAt, fields)
  local known = redis.call('HMGET', at(id), 'created', 'parent', 'model', 'status', 'labels')
  return cjson.encode({
    created = known[1], parent = known[2], model = known[3], status = known[4], labels = known[5],
    memberships = table.concat(fields, '\\n'), ['until'] = whole(goneAt + ${BOOKMARK_MS})
  })
end

local function remember(id, fields)
  local expires = tonumber(redis.call('HGET', at(id), 'expires'))
  local goneAt = expires > 0 and math.min(expires, now) or now
  local ms = goneAt + ${BOOKMARK_MS} - now
  if ms <= 0 then return end
  redis.call('SET', base .. ':gone:' .. id, bookmark(id, goneAt, fields), 'PX', whole(ms + ${GRACE_MS}))
end
`;

/** The reply of FIND_GONE; null when nothing is remembered. `text`: a `BookmarkText`. */
export type GoneFound = readonly [text: string, isBelow: 0 | 1] | null;

/**
 * What is remembered of a response, or would be if the purge had come to it, and whether it continued another one, or what continued that.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the id; ARGV[3]: that of the other one, or nothing. Returns `GoneFound`.
 */
export const FIND_GONE = new LuaScript(`${RESPONSES}${BOOKMARKS}
local function kept(id) return redis.call('GET', base .. ':gone:' .. id) end

local function parentOf(id)
  local parent = redis.call('HGET', at(id), 'parent')
  if parent then return parent end
  local isRead, gone = pcall(cjson.decode, kept(id) or '')
  return isRead and type(gone) == 'table' and gone.parent
end

local id, text = ARGV[2], kept(ARGV[2])
if not text then
  local expires = tonumber(redis.call('HGET', at(id), 'expires') or 0)
  if expires == 0 or expires > now then return false end
  text = bookmark(id, expires, memberships(id))
end
local isBelow, climbed = 0, 0
while ARGV[3] ~= '' and id and isBelow == 0 and climbed < ${GRAPH_MAX_RESPONSES} do
  id, climbed = parentOf(id), climbed + 1
  if id == ARGV[3] then isBelow = 1 end
end
return {text, isBelow}`);
