/**
 * Functions in Lua about background responses, for scripts that begin with RESPONSES and then these. Their hashes have
 * `attempt` (the latest that has started), `attempts` (without those that were handed back), `stream` (1 when clients may
 * read the log), `jobs` (JSON: what is to be enqueued), `done` (the entries of the log that say something of finished
 * items), `hold` (who ends it from outside, and until when its run waits for that, ms of the clock of Redis), and `ended` once they have ended: until when the log is stored, ms since the epoch.
 *
 * `:log` is a stream whose entry `<number of its first event + 1>-<number of its first note>` has the fields `events`
 * and `notes`.
 */
export const RUNS = `
-- Whether a run may write: the response has not ended, and the attempt, if one is given, is the latest.
local function isOpen(id, attempt)
  local run = redis.call('HMGET', at(id), 'attempt', 'ended')
  return visible(id, '') and run[1] and not run[2] and (attempt == '' or run[1] == attempt)
end

local function serverTime()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Whether somebody else ends the response from outside: until that is done, nothing is logged.
local function isHeld(id, name)
  local holder, ends = string.match(redis.call('HGET', at(id), 'hold') or '', '^(%S+) (%d+)$')
  return holder and holder ~= name and tonumber(ends) > serverTime()
end

-- Appends a batch that follows the last one, written from ARGV[start] on: its entry, events and notes, and 1 if it has
-- items. One that is there already is left out.
local function addBatch(id, start)
  local key, entry, events, notes = at(id) .. ':log', ARGV[start], ARGV[start + 1], ARGV[start + 2]
  if events == '' and notes == '' then return end
  local isNew = redis.call('EXISTS', key) == 0
  local added = redis.pcall('XADD', key, entry, 'events', events, 'notes', notes)
  if type(added) == 'table' and added.err then
    if string.find(added.err, 'equal or smaller', 1, true) then return end
    error(added)
  end
  if isNew then redis.call('PEXPIRE', key, redis.call('PTTL', at(id))) end
  if ARGV[start + 3] == '1' then
    redis.call('HSET', at(id), 'done', (redis.call('HGET', at(id), 'done') or '') .. ' ' .. entry)
  end
end

local function lastEntry(id)
  return redis.call('XREVRANGE', at(id) .. ':log', '+', '-', 'COUNT', 1)[1]
end
`;
