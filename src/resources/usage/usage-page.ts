import { DAY_MS, type UsageSum } from '../../state/index.js';
import type { Group, UsageReportQuery } from './usage-query.js';

/** The body of `GET /usage`. */
export interface UsagePage {
  readonly object: 'page';
  readonly data: readonly UsageBucket[];
  readonly has_more: boolean;
  /** The `page` of the next request; null at the end. */
  readonly next_page: string | null;
}

/** A day in UTC. */
interface UsageBucket {
  readonly object: 'bucket';
  /** Unix seconds. */
  readonly start_time: number;
  /** Unix seconds, exclusive. */
  readonly end_time: number;
  readonly results: readonly UsageResult[];
}

/** A sum of turns. A name that the report is not grouped by is absent. */
export interface UsageResult {
  readonly object: 'usage.result';
  readonly tenant?: string;
  readonly model?: string;
  readonly provider?: string | null;
  readonly key_id?: string | null;
  readonly turns: number;
  readonly input_tokens: number;
  readonly input_cached_tokens: number;
  readonly output_tokens: number;
  readonly reasoning_tokens: number;
}

const DAY_SECONDS = DAY_MS / 1000;

/** The days of a page of a report: from `page` on, at most `limit`. */
export function daysOf({ firstDay, endDay, limit, page = firstDay }: UsageReportQuery): {
  readonly firstDay: number;
  readonly endDay: number;
} {
  const first = Math.max(firstDay, page);
  return { firstDay: first, endDay: Math.max(first, Math.min(endDay, first + limit)) };
}

/** A page of sums; every day has a bucket, also one without turns. */
export function toUsagePage(sums: readonly UsageSum[], query: UsageReportQuery): UsagePage {
  const { firstDay, endDay } = daysOf(query);
  const days = Map.groupBy(
    sums.filter(({ model }) => query.models.size === 0 || query.models.has(model)),
    ({ day }) => day,
  );
  const data = Array.from({ length: endDay - firstDay }, (_, index): UsageBucket => {
    const start = (firstDay + index) * DAY_SECONDS;
    const results = toResults(days.get(firstDay + index) ?? [], query.groups);
    return { object: 'bucket', start_time: start, end_time: start + DAY_SECONDS, results };
  });
  const hasMore = endDay < query.endDay;
  return { object: 'page', data, has_more: hasMore, next_page: hasMore ? String(endDay) : null };
}

function toResults(sums: readonly UsageSum[], groups: ReadonlySet<Group>): readonly UsageResult[] {
  const byName = Map.groupBy(sums, (sum) => JSON.stringify(namesOf(sum, groups)));
  return [...byName]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([names, group]) => toResult(JSON.parse(names) as Partial<UsageResult>, group));
}

function namesOf({ tenant, model, provider, keyId }: UsageSum, groups: ReadonlySet<Group>): Partial<UsageResult> {
  return {
    ...(groups.has('tenant') ? { tenant } : {}),
    ...(groups.has('model') ? { model } : {}),
    ...(groups.has('provider') ? { provider } : {}),
    ...(groups.has('key_id') ? { key_id: keyId } : {}),
  };
}

function toResult(names: Partial<UsageResult>, sums: readonly UsageSum[]): UsageResult {
  const total = (count: (sum: UsageSum) => number): number => sums.reduce((sum, next) => sum + count(next), 0);
  return {
    object: 'usage.result',
    ...names,
    turns: total(({ turns }) => turns),
    input_tokens: total(({ tokens }) => tokens.input),
    input_cached_tokens: total(({ tokens }) => tokens.cached),
    output_tokens: total(({ tokens }) => tokens.output),
    reasoning_tokens: total(({ tokens }) => tokens.reasoning),
  };
}
