import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { UnknownCursorError } from '../errors.js';
import { cursorOf, isForward, type PageRequest } from '../page.js';
import type { StoredResponse } from '../stored-response.js';
import type { DanglingEntries } from './dangling-entries.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import type { ResponseSlots } from './response-slots.js';
import { type Command, FREES_MEMORY, run, LuaScript } from './script.js';
import { READ, type ReadReply } from './scripts/read.js';
import { RESPONSES } from './scripts/responses.js';

/** The reply of PAGE: names and scores in turn, ascending; null when the list has no such cursor. */
type PageReply = readonly string[] | null;

/**
 * A part of a sorted set, from a cursor on.
 *
 * KEYS[1]: a sorted set. ARGV[1]: 1 for what follows the cursor, 0 for what precedes it; ARGV[2]: how many; ARGV[3], ARGV[4]:
 * the least score, inclusive, and the highest, exclusive; ARGV[5], if any: the cursor; ARGV[6], if any: its score, for a
 * cursor that was in the list and may have left it. Returns a `PageReply`. What it adds, it removes: also when memory is full.
 */
const PAGE = new LuaScript(`${FREES_MEMORY}
local key, count = KEYS[1], tonumber(ARGV[2])
local first = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[3])
local last = redis.call('ZCOUNT', key, '-inf', '(' .. ARGV[4]) - 1
if ARGV[5] then
  local rank, width = redis.call('ZRANK', key, ARGV[5]), 1
  if not rank then
    if not ARGV[6] then return false end
    -- Where it was.
    redis.call('ZADD', key, ARGV[6], ARGV[5])
    rank, width = redis.call('ZRANK', key, ARGV[5]), 0
    redis.call('ZREM', key, ARGV[5])
  elseif rank < first or rank > last then
    return false
  end
  if ARGV[1] == '1' then first = math.max(first, rank + width) else last = math.min(last, rank - 1) end
end
if ARGV[1] == '1' then last = math.min(last, first + count - 1) else first = math.max(first, last - count + 1) end
if last < first then return {} end
return redis.call('ZRANGE', key, first, last, 'WITHSCORES')`);

/** In place of the size of a response that is not visible or does not match. */
const NO_MATCH = -1;

/** In place of the size of a response that is not stored in the slot. */
const NOT_STORED = -2;

/**
 * Which responses are visible and match a filter.
 *
 * KEYS[1]: the slot. ARGV[1]: now; ARGV[2]: within; ARGV[3]: the model; ARGV[4]: statuses, and ARGV[5]: labels, with
 * blanks in between; each of these is empty when it does not matter, but the model is one to match if ARGV[6] is 1; from
 * ARGV[7] on: ids. Returns the size of each, bytes, or NO_MATCH or NOT_STORED.
 */
const MATCH = new LuaScript(`${RESPONSES}
local function matches(id)
  if not visible(id, ARGV[2]) then return false end
  local known = redis.call('HMGET', at(id), 'model', 'status', 'labels')
  if ARGV[6] == '1' and known[1] ~= ARGV[3] then return false end
  local statuses = ' ' .. ARGV[4] .. ' '
  if ARGV[4] ~= '' and not string.find(statuses, ' ' .. known[2] .. ' ', 1, true) then return false end
  local labels = ' ' .. (known[3] or '') .. ' '
  for label in string.gmatch(ARGV[5], '%S+') do
    if not string.find(labels, ' ' .. label .. ' ', 1, true) then return false end
  end
  return true
end
local replies = {}
for i = 7, #ARGV do
  local id = ARGV[i]
  local size = redis.call('HGET', at(id), 'size')
  replies[#replies + 1] = not size and ${NOT_STORED} or matches(id) and tonumber(size) or ${NO_MATCH}
end
return replies`);

/** Most responses that one script looks at. */
const BATCH = 1000;

/** Which responses match. */
interface Criteria {
  /** The field that they must have, as of `withinOf`; empty for any. */
  readonly within: string;
  /** As of `toKey`. */
  readonly model?: string | undefined;
  /** Any of these. */
  readonly statuses?: readonly string[] | undefined;
  /** As of `toLabels`; all of them. */
  readonly labels?: readonly string[];
}

/** A list of responses: the members of a sorted set that match. */
export interface List {
  readonly index: string;
  readonly criteria: Criteria;
  /** The slot of all of them, if there is one. */
  readonly slot?: string;
  /** Unix seconds, inclusive. */
  readonly createdFrom?: number | undefined;
  /** Unix seconds, exclusive. */
  readonly createdBefore?: number | undefined;
}

/** A response that matches. */
export interface Listed {
  /** As of `toKey`. */
  readonly responseKey: string;
  /** The name of the slot that it lies in (`RedisKeys.slot`). */
  readonly slot: string;
  /** Bytes. */
  readonly size: number;
}

/** Responses that are listed by indexes, which may name what is gone: each is asked for where it lies. */
export class ListedResponses {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly slots: ResponseSlots,
    private readonly dangling: DanglingEntries,
    private readonly clock: Clock,
  ) {}

  /**
   * Walks the responses of a list behind a cursor, in batches that grow. `gone`: when the cursor was created, Unix seconds, if the list had it
   * and has it no more. Throws UnknownCursorError.
   */
  async *walk(
    tenant: Tenant,
    list: List,
    page: Omit<PageRequest, 'limit'>,
    firstBatch = BATCH,
    gone?: number,
  ): AsyncGenerator<readonly Listed[], undefined> {
    const forward = isForward(page);
    const range = [list.createdFrom ?? '-inf', list.createdBefore ?? '+inf'];
    let cursor: readonly (string | number)[] = [cursorOf(page), gone].filter((part) => part !== undefined);
    for (let count = firstBatch; ; count = Math.min(BATCH, 4 * count)) {
      const script = run(PAGE, [list.index], forward ? 1 : 0, count, ...range, ...cursor);
      const [reply] = (await this.redis.read(script)) as readonly PageReply[];
      if (reply == null) throw new UnknownCursorError(page);
      const entries = toPairs(reply);
      if (!forward) entries.reverse();
      yield await this.confirm(
        tenant,
        list,
        entries.map(([responseKey]) => responseKey),
      );
      const last = entries.at(-1);
      if (last === undefined || entries.length < count) return;
      cursor = last;
    }
  }

  /** The responses of some entries of a list, as far as they match, in the same order. */
  async confirm(tenant: Tenant, list: List, responseKeys: readonly string[]): Promise<readonly Listed[]> {
    const { matching, missing } = await this.match(tenant, responseKeys, list.criteria, list.slot);
    this.dangling.note(list.index, missing);
    return matching;
  }

  /** Which responses match, in the same order, and which are not stored. `slot`: that of all of them, if it is known. */
  async match(
    tenant: Tenant,
    responseKeys: readonly string[],
    { within, model, statuses = [], labels = [] }: Criteria,
    slot?: string,
  ): Promise<{ readonly matching: readonly Listed[]; readonly missing: readonly string[] }> {
    const slotOf = await this.locate(tenant, responseKeys, slot);
    const filter = [within, model ?? '', statuses.join(' '), labels.join(' '), model === undefined ? 0 : 1];
    const sizes = await this.ask(tenant, slotOf, (base, ids) =>
      run(MATCH, [base], this.clock.now(), ...filter, ...ids),
    );
    const sizeOf = (responseKey: string): number => (sizes.get(responseKey) as number | undefined) ?? NOT_STORED;
    return {
      matching: responseKeys.flatMap((responseKey) => {
        const [lies, size] = [slotOf.get(responseKey), sizeOf(responseKey)];
        return lies === undefined || size === NOT_STORED || size === NO_MATCH
          ? []
          : [{ responseKey, slot: lies, size }];
      }),
      missing: responseKeys.filter((responseKey) => sizeOf(responseKey) === NOT_STORED),
    };
  }

  /** The responses that are still visible, as they are stored, in the same order; those that have not ended are without output. */
  async read(
    tenant: Tenant,
    listed: readonly Omit<Listed, 'size'>[],
    within: string,
  ): Promise<readonly StoredResponse[]> {
    const slotOf = new Map(listed.map(({ responseKey, slot }) => [responseKey, slot]));
    const replies = await this.ask(tenant, slotOf, (base, ids) => run(READ, [base], this.clock.now(), within, ...ids));
    return listed.flatMap(({ responseKey }) => {
      const reply = replies.get(responseKey) as ReadReply | undefined;
      return reply == null ? [] : [toTexts(responseKey, reply)];
    });
  }

  private locate(
    tenant: Tenant,
    responseKeys: readonly string[],
    slot: string | undefined,
  ): Promise<ReadonlyMap<string, string>> | ReadonlyMap<string, string> {
    if (slot === undefined) return this.slots.findAll(tenant, responseKeys);
    return new Map(responseKeys.map((responseKey) => [responseKey, slot]));
  }

  /** Asks about responses where they lie, all at once; the replies by `toKey` of each. */
  private async ask(
    tenant: Tenant,
    slotOf: ReadonlyMap<string, string>,
    toCommand: (base: string, ids: readonly string[]) => Command,
  ): Promise<ReadonlyMap<string, unknown>> {
    const batches = toBatches(slotOf);
    const commands = batches.map(({ slot, ids }) => toCommand(this.keys.slot(tenant, slot).base, ids));
    const replies = commands.length === 0 ? [] : await this.redis.read(...commands);
    return new Map(
      batches.flatMap(({ ids }, batch) => ids.map((id, index) => [id, (replies[batch] as readonly unknown[])[index]])),
    );
  }
}

/** A response as `readResponse` wants it. */
export function toTexts(id: string, [status, body, output]: NonNullable<ReadReply>): StoredResponse {
  return { id, status: status as StoredResponse['status'], body, output };
}

/** Responses by the slot that they lie in, not too many at once. */
export function toBatches(
  slotOf: ReadonlyMap<string, string>,
): readonly { readonly slot: string; readonly ids: readonly string[] }[] {
  const batches: { readonly slot: string; readonly ids: string[] }[] = [];
  const open = new Map<string, string[]>();
  for (const [id, slot] of slotOf) {
    let ids = open.get(slot);
    if (ids === undefined || ids.length === BATCH) {
      ids = [];
      open.set(slot, ids);
      batches.push({ slot, ids });
    }
    ids.push(id);
  }
  return batches;
}

function toPairs(reply: readonly string[]): [entry: string, score: string][] {
  return Array.from({ length: reply.length / 2 }, (_, index) => [reply[2 * index] ?? '', reply[2 * index + 1] ?? '']);
}
