import type { Tenant } from '../../access/index.js';
import type { Item, StreamEvent } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { RunLostError } from '../errors.js';
import {
  begins,
  EventLog,
  finishedItems,
  LOG_PAGE_LIMITS,
  type LogBatch,
  LOGS_FORGOTTEN,
  type Run,
  toLogPage,
} from '../event-log.js';
import type { RunGate } from '../in-process/run-gate.js';
import { LogAnnouncer } from '../log-announcer.js';
import type { RunNotices } from '../notices.js';
import { logRecord } from '../stored-response.js';
import { type RedisKeys, withinOf } from './keys.js';
import { batchArgs, eventsOf, type StoredBatch, toLog, whenReleased } from './log-entries.js';
import type { RedisNotices } from './notices.js';
import type { Redis } from './redis.js';
import type { ResponseSlots } from './response-slots.js';
import type { RunIndex } from './run-index.js';
import { LuaScript } from './script.js';
import { RESPONSES } from './scripts/responses.js';
import { RUNS } from './scripts/runs.js';

/** What became of a batch: `held`, somebody ends the response from outside; `closed`, the run may write no more. */
type LogAppended = 'appended' | 'held' | 'closed';

/**
 * Appends a batch if the attempt is the latest and the response has not ended. One that begins leaves the queue.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the attempt; ARGV[4] to ARGV[7]: the batch;
 * ARGV[8]: 1 when it begins. Returns `LogAppended`.
 */
const APPEND = new LuaScript(`${RESPONSES}${RUNS}
local id = ARGV[2]
if not isOpen(id, ARGV[3]) then return 'closed' end
if isHeld(id, '') then return 'held' end
addBatch(id, 4)
if ARGV[8] == '1' and redis.call('HGET', at(id), 'status') == 'queued' then
  redis.call('HSET', at(id), 'status', 'in_progress')
end
return 'appended'`);

/** An entry of the log with its events. */
type LogEntry = readonly [entry: string, events: string];

/** A page, without events when the response has no stream or its log is no longer stored; `ended`: until when it is. */
type LogPageReply = readonly [stream: string | null, ended: string | null, entries: readonly LogEntry[]];

/**
 * The events from the batch on that contains a number.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response; ARGV[3]: the field that it must have; ARGV[4]: the number.
 * Returns `LogPageReply`, or nil when the response is not found.
 */
const READ_LOG = new LuaScript(`${RESPONSES}
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
    if size > ${LOG_PAGE_LIMITS.bytes} or #entries == ${LOG_PAGE_LIMITS.batches} then break end
    if events ~= '' then
      entries[#entries + 1] = {entry[1], events}
      size = size + #events
    end
    from = '(' .. entry[1]
  end
until size > ${LOG_PAGE_LIMITS.bytes} or #entries == ${LOG_PAGE_LIMITS.batches} or #batch < 32
return {run[1], run[2], entries}`);

/**
 * The entries of the log that say something about finished items.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: the response. Returns entries as XRANGE does.
 */
const ITEMS_OF_LOG = new LuaScript(`${RESPONSES}
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
const FORGET_LOG = new LuaScript(`${RESPONSES}
local ended = redis.call('HGET', at(ARGV[2]), 'ended')
if ended and tonumber(ended) <= now then
  redis.call('UNLINK', at(ARGV[2]) .. ':log')
  redis.call('HDEL', at(ARGV[2]), 'done')
end`);

/** The largest number of an event: larger ones are past the end of every log. */
const MAX_EVENT = 2 ** 31 - 1;

/** What the log needs. */
interface EventLogParts {
  readonly redis: Redis;
  readonly keys: RedisKeys;
  readonly slots: ResponseSlots;
  readonly index: RunIndex;
  readonly runNotices: RunNotices;
  readonly gate: RunGate;
  /** Tells other replicas. */
  readonly notices: Pick<RedisNotices, 'logged'>;
  readonly clock: Clock;
}

/** The events of background responses as streams in Redis, for readers on all replicas. */
export class RedisEventLog extends EventLog {
  private readonly announcer: LogAnnouncer;

  constructor(private readonly parts: EventLogParts) {
    super();
    const { runNotices, notices, clock } = parts;
    this.announcer = new LogAnnouncer(runNotices, (keys) => notices.logged(keys), clock);
  }

  override async append(run: Run, batch: LogBatch): Promise<void> {
    const { tenant, responseId, attempt } = run;
    const { redis, keys, slots, index, gate, clock } = this.parts;
    const located = await slots.locate(tenant, responseId);
    if (located === undefined) throw new RunLostError(responseId);
    const isBeginning = begins(batch);
    const args = [attempt, ...batchArgs(batch), isBeginning ? 1 : 0];
    const write = async (): Promise<LogAppended> => {
      const [reply] = await redis.write(keys.call(located, APPEND, clock.now(), ...args));
      return reply as LogAppended;
    };
    const outcome = await gate.pass(run, () => whenReleased(clock, write));
    if (outcome === 'closed') throw new RunLostError(responseId);
    if (isBeginning) await redis.write(...index.begun(located));
    this.announce(responseId, batch.events);
  }

  override async read(tenant: Tenant, responseId: string, after: number, within?: string) {
    const { slots, clock } = this.parts;
    const args = [withinOf(within), Math.min(after + 1, MAX_EVENT)];
    const reply = (await slots.ask(tenant, responseId, READ_LOG, ...args)) as LogPageReply | null | undefined;
    if (reply == null) return undefined;
    const [stream, ended, entries] = reply;
    const events = entries.flatMap(([entry, text]) => eventsOf(entry, text));
    const hasEnded = ended !== null;
    return toLogPage(events, after, {
      isStream: stream === '1',
      hasEnded,
      hasExpired: hasEnded && Number(ended) <= clock.now(),
    });
  }

  /** The items that a running response has finished. */
  async finishedItems(tenant: Tenant, responseId: string): Promise<readonly Item[]> {
    const batches = await this.parts.slots.ask(tenant, responseId, ITEMS_OF_LOG);
    return finishedItems(toLog((batches ?? []) as readonly StoredBatch[], responseId), logRecord(responseId));
  }

  /** Gives stored events to the readers of this process at once, and wakes those of others soon. */
  announce(responseId: string, events: readonly StreamEvent[]): void {
    this.announcer.announce(responseId, events);
  }

  /** Deletes the events of some responses that ended long ago; false when there are no more. */
  async forget(): Promise<boolean> {
    const { redis, keys, index, clock } = this.parts;
    const now = clock.now();
    const entries = await index.toForget(now, LOGS_FORGOTTEN.responses);
    await redis.write(...entries.flatMap((entry) => [keys.call(entry, FORGET_LOG, now), index.forgotten(entry)]));
    return entries.length === LOGS_FORGOTTEN.responses;
  }
}
