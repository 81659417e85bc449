import type { Tenant } from '../access/index.js';
import { parseStored, readTenant } from './read-record.js';
import { readable } from './readable-page.js';

/** A day in UTC, the bucket of reports, ms. */
export const DAY_MS = 86_400_000;

/** What one turn has used. */
export interface UsageRecord {
  readonly responseId: string;
  readonly tenant: Tenant;
  /** The name of the credential; null without one. */
  readonly keyId: string | null;
  /** The model that was requested. */
  readonly model: string;
  /** The provider that answered; null when none was chosen. */
  readonly provider: string | null;
  readonly transport: string;
  readonly background: boolean;
  readonly status: string;
  /** Milliseconds since the epoch. */
  readonly endedAt: number;
  readonly tokens: UsageTokens;
}

/** Tokens, as the provider reported or the service counted them. */
export interface UsageTokens {
  readonly input: number;
  /** Part of `input`. */
  readonly cached: number;
  readonly output: number;
  /** Part of `output`. */
  readonly reasoning: number;
}

/** Which days and tenant to report. */
export interface UsageQuery {
  /** The first day, counted from the epoch in UTC. */
  readonly firstDay: number;
  /** The day after the last one. */
  readonly endDay: number;
  /** Absent: all tenants. */
  readonly tenant?: Tenant;
}

/** The sum of the turns that agree in day, tenant, model, provider and credential. */
export interface UsageSum {
  /** Days since the epoch. */
  readonly day: number;
  readonly tenant: Tenant;
  readonly model: string;
  readonly provider: string | null;
  readonly keyId: string | null;
  readonly turns: number;
  readonly tokens: UsageTokens;
}

/**
 * What turns have used. It outlives the responses. A backend that has one also stores the `usage` of the responses that it
 * saves and ends, together with them.
 */
export abstract class UsageStore {
  /** Stores records, once per response id: it may be repeated after an error. Throws StoreUnavailableError. */
  abstract record(records: readonly UsageRecord[]): Promise<void>;

  /** The sums of a range of days, in no order. Throws StoreUnavailableError. */
  abstract report(query: UsageQuery): Promise<readonly UsageSum[]>;

  /**
   * Forgets a batch of the turns that ended before a time, milliseconds since the epoch; true if there may be more. Throws
   * StoreUnavailableError.
   */
  abstract purge(endedBefore: number): Promise<boolean>;
}

/** The day of a time in UTC. */
export function dayOf(timeMs: number): number {
  return Math.floor(timeMs / DAY_MS);
}

/** Rows that one purge of a database deletes at most. */
export const USAGE_BATCH = 1000;

/** A sum as databases give it; names are JSON, so that every text can be read back. */
export interface UsageSumRow extends UsageTokens {
  readonly day: number;
  readonly tenant: string;
  readonly model: string;
  readonly provider: string;
  readonly key_id: string;
  readonly turns: number;
}

/** How damage in what was used on a day is named. */
export function usageOfDay(day: number): string {
  return `the usage of ${new Date(day * DAY_MS).toISOString().slice(0, 10)}`;
}

/** What is read of a sum as `read` does; none for a damaged one, which is logged. */
export function readableUsage<T>(read: () => T): readonly T[] {
  return readable('?', () => [read()], 'Reports leave it out: restore it from a backup') ?? [];
}

/** Reads sums; a damaged one is left out, and logged. */
export function toUsageSums(rows: readonly UsageSumRow[]): readonly UsageSum[] {
  return rows.flatMap((row) => readableUsage(() => toUsageSum(row)));
}

function toUsageSum({ day, turns, tenant, model, provider, key_id, ...tokens }: UsageSumRow): UsageSum {
  const { input, cached, output, reasoning } = tokens;
  const record = usageOfDay(day);
  return {
    ...{ day, turns },
    tenant: readTenant(tenant, record),
    model: parseStored(model, record) as string,
    provider: parseStored(provider, record) as string | null,
    keyId: parseStored(key_id, record) as string | null,
    tokens: { input, cached, output, reasoning },
  };
}
