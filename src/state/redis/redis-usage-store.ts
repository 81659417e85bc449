import type { Tenant } from '../../access/index.js';
import { toKey } from '../keys.js';
import { DAY_MS, dayOf, type UsageQuery, type UsageRecord, UsageStore, type UsageSum } from '../usage-store.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { RECORD_USAGE } from './scripts/record-usage.js';

/** How long a record that is repeated after an error is recognised, ms. */
const REPEATED_WITHIN_MS = DAY_MS;
/** Hashes that are read with one request. */
const BATCH = 200;

const FIELD = /^([a-z]+)(\[.*\])$/s;

/** Usage in Redis: sums per tenant and day, each in a slot of its own. They expire by themselves. */
export class RedisUsageStore extends UsageStore {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
  ) {
    super();
  }

  override async record(records: readonly UsageRecord[]): Promise<void> {
    const tenants = [...new Set(records.map(({ tenant }) => JSON.stringify(tenant)))];
    // First, so that no sum is missing in the report of all tenants.
    if (tenants.length > 0) await this.redis.write(['SADD', this.keys.tenantsWithUsage, ...tenants]);
    await this.redis.write(...records.map((record) => this.toCommand(record)));
  }

  override async report({ firstDay, endDay, tenant }: UsageQuery): Promise<readonly UsageSum[]> {
    const tenants = tenant === undefined ? await this.tenants() : [tenant];
    const days = Array.from({ length: Math.max(0, endDay - firstDay) }, (_, index) => firstDay + index);
    const wanted = tenants.flatMap((name) => days.map((day) => ({ tenant: name, day })));
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

  private async tenants(): Promise<readonly Tenant[]> {
    const [names] = await this.redis.read(['SMEMBERS', this.keys.tenantsWithUsage]);
    return (names as readonly string[]).map((name) => JSON.parse(name) as Tenant);
  }

  private toCommand({ responseId, tenant, model, provider, keyId, endedAt, expiresAt, tokens }: UsageRecord) {
    const key = this.keys.usage(tenant, dayOf(endedAt));
    return run(
      RECORD_USAGE,
      [key, `${key}:ids`],
      ...[toKey(responseId), JSON.stringify([model, provider, keyId])],
      ...[tokens.input, tokens.cached, tokens.output, tokens.reasoning],
      // A day more: all turns of a day live as long as the latest could.
      ...[Math.max(1, expiresAt - endedAt) + DAY_MS, REPEATED_WITHIN_MS],
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
  return [...counts].map(([names, sum]) => {
    const [model, provider, keyId] = JSON.parse(names) as [string, string | null, string | null];
    const count = (what: string): number => sum.get(what) ?? 0;
    return {
      ...{ day, tenant, model, provider, keyId },
      turns: count('turns'),
      tokens: {
        input: count('input'),
        cached: count('cached'),
        output: count('output'),
        reasoning: count('reasoning'),
      },
    };
  });
}
