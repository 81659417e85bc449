import type { Tenant } from '../../access/index.js';
import { toKey } from '../keys.js';
import { parseStored } from '../read-record.js';
import {
  DAY_MS,
  dayOf,
  readableUsage,
  type UsageQuery,
  type UsageRecord,
  usageOfDay,
  UsageStore,
  type UsageSum,
} from '../usage-store.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, run, LuaScript } from './script.js';

/**
 * Adds a turn to the sums of its tenant and day, once.
 *
 * KEYS: 1 hash of sums, 2 set of the response ids that are in it. ARGV: 1 response id, 2 name of the sum, 3 input, 4 cached, 5 output,
 * 6 reasoning tokens, 7 lifetime of the sums, ms, 8 lifetime of the ids, ms.
 */
const RECORD_USAGE = new LuaScript(`if redis.call('SADD', KEYS[2], ARGV[1]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[2], ARGV[8])
for field, value in pairs({ turns = 1, input = ARGV[3], cached = ARGV[4], output = ARGV[5], reasoning = ARGV[6] }) do
  -- A sum beyond 2^63 stays as it is.
  redis.pcall('HINCRBY', KEYS[1], field .. ARGV[2], value)
end
redis.call('PEXPIRE', KEYS[1], ARGV[7])
return 1`);

/** How long a record that is repeated after an error is recognised, ms. */
const REPEATED_WITHIN_MS = DAY_MS;
/** Hashes that are read with one request. */
const BATCH = 200;

const COUNTED = ['turns', 'input', 'cached', 'output', 'reasoning'];
const FIELD = /^([a-z]+)(\[.*\])$/s;

/** Usage in Redis: sums per tenant and day, each in a slot of its own. They expire by themselves. */
export class RedisUsageStore extends UsageStore {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    private readonly retentionDays: number,
  ) {
    super();
  }

  /** The commands that count a turn; they may be repeated. */
  commands(record: UsageRecord | undefined): readonly Command[] {
    if (record === undefined) return [];
    const { responseId, tenant, model, provider, keyId, endedAt, tokens } = record;
    const day = dayOf(endedAt);
    const [sums, tenants] = [this.keys.usage(tenant, day), this.keys.tenantsWithUsage(day)];
    // A day more: all turns of a day live as long as the latest.
    const lifetimeMs = (this.retentionDays + 1) * DAY_MS;
    return [
      // First, so that no sum is missing in the report of all tenants.
      ['SADD', tenants, JSON.stringify(tenant)],
      ['PEXPIRE', tenants, lifetimeMs],
      run(
        RECORD_USAGE,
        [sums, `${sums}:ids`],
        ...[toKey(responseId), JSON.stringify([model, provider, keyId])],
        ...[tokens.input, tokens.cached, tokens.output, tokens.reasoning],
        ...[lifetimeMs, REPEATED_WITHIN_MS],
      ),
    ];
  }

  override async record(records: readonly UsageRecord[]): Promise<void> {
    await this.redis.write(...records.flatMap((record) => this.commands(record)));
  }

  override async report({ firstDay, endDay, tenant }: UsageQuery): Promise<readonly UsageSum[]> {
    const days = Array.from({ length: Math.max(0, endDay - firstDay) }, (_, index) => firstDay + index);
    const wanted = tenant === undefined ? await this.tenantsOf(days) : days.map((day) => ({ tenant, day }));
    const sums: UsageSum[] = [];
    for (let start = 0; start < wanted.length; start += BATCH) {
      const batch = wanted.slice(start, start + BATCH);
      const hashes = await this.redis.read(
        ...batch.map(({ tenant: name, day }) => ['HGETALL', this.keys.usage(name, day)] as const),
      );
      for (const [index, { tenant: name, day }] of batch.entries()) sums.push(...toSums(name, day, hashes[index]));
    }
    return sums;
  }

  override async purge(): Promise<boolean> {
    return false;
  }

  /** The tenants that have used something on each of some days. */
  private async tenantsOf(
    days: readonly number[],
  ): Promise<readonly { readonly tenant: Tenant; readonly day: number }[]> {
    const names = await this.redis.read(...days.map((day) => ['SMEMBERS', this.keys.tenantsWithUsage(day)] as const));
    return days.flatMap((day, index) =>
      (names[index] as readonly string[]).map((name) => ({ tenant: JSON.parse(name) as Tenant, day })),
    );
  }
}

/** The fields of a hash are what is counted, followed by the names as JSON. */
function toSums(tenant: Tenant, day: number, hash: unknown): readonly UsageSum[] {
  const counts = new Map<string, Map<string, number>>();
  const flat = hash as readonly string[];
  for (let index = 0; index < flat.length; index += 2) {
    const [, what = '', names = '[]'] = FIELD.exec(flat[index] ?? '') ?? [];
    const sum = counts.get(names) ?? new Map<string, number>();
    counts.set(names, sum.set(what, Number(flat[index + 1])));
  }
  return [...counts].flatMap(([names, sum]) => {
    const [turns = 0, input = 0, cached = 0, output = 0, reasoning = 0] = COUNTED.map((what) => sum.get(what));
    return readableUsage(() => {
      const read = parseStored(names, usageOfDay(day)) as [string, string | null, string | null];
      const [model, provider, keyId] = read;
      return { day, tenant, model, provider, keyId, turns, tokens: { input, cached, output, reasoning } };
    });
  });
}
