import { Script } from '../script.js';
import { RESPONSES } from './responses.js';
import { RUNS } from './runs.js';
/** What became of a batch: `held`, somebody ends the response from outside; `closed`, the run may write no more. */
export type LogAppended = 'appended' | 'held' | 'closed';

/**
 * Appends a batch if the attempt is the latest and the response has not ended. One that begins leaves the queue.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt; ARGV[4] to ARGV[7]: the batch;
 * ARGV[8]: 1 when it begins. Returns `LogAppended`.
 */
export const APPEND = new Script(`${RESPONSES}${RUNS}
local id = ARGV[2]
if not isOpen(id, ARGV[3]) then return 'closed' end
if isHeld(id, '') then return 'held' end
addBatch(id, 4)
if ARGV[8] == '1' and redis.call('HGET', at(id), 'status') == 'queued' then
  redis.call('HSET', at(id), 'status', 'in_progress')
end
return 'appended'`);

/** Most bytes of events on a page; the first batch always fits. */
const PAGE_BYTES = 1024 * 1024;
/** Most batches on a page. */
const PAGE_BATCHES = 256;

/** An entry of the log with its events. */
type LogEntry = readonly [entry: string, events: string];

/** A page, without events when the response has no stream or its log is no longer stored; `ended`: until when it is. */
export type LogPageReply = readonly [stream: string | null, ended: string | null, entries: readonly LogEntry[]];

/**
 * The events from the batch on that contains a number.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the field that it must have; ARGV[4]: the number.
 * Returns `LogPageReply`, or nil when the response is not found.
 */
export const READ_LOG = new Script(`${RESPONSES}
local id = ARGV[2]
if not visible(id, ARGV[3]) then return nil end
local run, key = redis.call('HMGET', at(id), 'stream', 'ended'), at(id) .. ':log'
if run[1] ~= '1' or (run[2] and tonumber(run[2]) <= now) then return {run[1], run[2], {}} end

-- The latest batch with events that begins no later.
local from, upTo = '-', whole(tonumber(ARGV[4]) + 1)
repeat
  local batch = redis.call('XREVRANGE', key, upTo, '-', 'COUNT', 64)
  for _, entry in ipairs(batch) do
    if from == '-' and entry[2][2] ~= '' then from = entry[1] end
    upTo = '(' .. entry[1]
  end
until from ~= '-' or #batch < 64

local entries, size = {}, 0
repeat
  local batch = redis.call('XRANGE', key, from, '+', 'COUNT', 32)
  for _, entry in ipairs(batch) do
    local events = entry[2][2]
    if size > ${PAGE_BYTES} or #entries == ${PAGE_BATCHES} then break end
    if events ~= '' then
      entries[#entries + 1] = {entry[1], events}
      size = size + #events
    end
    from = '(' .. entry[1]
  end
until size > ${PAGE_BYTES} or #entries == ${PAGE_BATCHES} or #batch < 32
return {run[1], run[2], entries}`);

/**
 * The entries of the log that say something about finished items.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response. Returns entries as XRANGE does.
 */
export const ITEMS_OF_LOG = new Script(`${RESPONSES}
local key, found = at(ARGV[2]) .. ':log', {}
for entry in string.gmatch(redis.call('HGET', at(ARGV[2]), 'done') or '', '%S+') do
  found[#found + 1] = redis.call('XRANGE', key, entry, entry)[1]
end
return found`);

/**
 * Deletes the log of a response that ended long ago.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response.
 */
export const FORGET_LOG = new Script(`${RESPONSES}
local ended = redis.call('HGET', at(ARGV[2]), 'ended')
if ended and tonumber(ended) <= now then
  redis.call('UNLINK', at(ARGV[2]) .. ':log')
  redis.call('HDEL', at(ARGV[2]), 'done')
end`);
