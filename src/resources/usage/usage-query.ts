import { IsIn, IsInt, IsOptional, IsString, Max, Min, MinLength } from 'class-validator';

import { ApiError } from '../../protocol/index.js';
import { DAY_MS, dayOf } from '../../state/index.js';
import { Closed, compile, IgnoredMembers, type Query, toArray, toNumber, TypoSearch } from '../../validation/index.js';

/** What the results of a bucket can be divided by. */
const GROUPS = ['model', 'provider', 'key_id', 'tenant'] as const;

/** One of GROUPS. */
export type Group = (typeof GROUPS)[number];

/** Most days of a report. */
const MAX_DAYS = 366;
/** Days of a report without `start_time`. */
const DEFAULT_DAYS = 7;
/** The last second of the year 9999. */
const LAST_SECOND = 253_402_300_799;

/** The query of `GET /usage`. */
export interface UsageReportQuery {
  /** The first day, counted from the epoch in UTC. */
  readonly firstDay: number;
  /** The day after the last one. */
  readonly endDay: number;
  readonly groups: ReadonlySet<Group>;
  /** Empty: all. */
  readonly models: ReadonlySet<string>;
  /** A tenant's name, or `*` for all; absent: the caller's own. */
  readonly tenant?: string;
  /** Buckets of a page. */
  readonly limit: number;
  /** The `next_page` of the page before: its first day. */
  readonly page?: number;
}

/** The parameters of `GET /usage`. */
@Closed()
export class UsageParameters {
  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LAST_SECOND)
  readonly start_time?: number;

  @IsOptional()
  @IsInt()
  @Min(0)
  @Max(LAST_SECOND)
  readonly end_time?: number;

  @IsIn(['1d'])
  readonly bucket_width!: '1d';

  @IsIn(GROUPS, { each: true })
  readonly group_by!: readonly Group[];

  @IsString({ each: true })
  readonly models!: readonly string[];

  @IsOptional()
  @IsString()
  @MinLength(1)
  readonly tenant?: string;

  @IsInt()
  @Min(1)
  @Max(MAX_DAYS)
  readonly limit!: number;

  @IsOptional()
  @IsString()
  readonly page?: string;
}

const check = compile(UsageParameters);
/** Parameters that are unknown and no misspelling are ignored, as in all queries. */
const ignored = new IgnoredMembers(() => undefined);

/** Reads the query of `GET /usage`; throws ApiError 400 for the first violation. Whole days in UTC are reported. */
export function readUsageQuery(query: Query, nowSeconds: number): UsageReportQuery {
  const { start_time, end_time, bucket_width = '1d', tenant, limit = MAX_DAYS, page } = query;
  const parameters = {
    ...withoutArrays(query),
    ...(start_time === undefined ? {} : { start_time: toNumber(start_time) }),
    ...(end_time === undefined ? {} : { end_time: toNumber(end_time) }),
    bucket_width,
    group_by: toArray(query, 'group_by'),
    models: toArray(query, 'models'),
    ...(tenant === undefined ? {} : { tenant }),
    limit: toNumber(limit),
    ...(page === undefined ? {} : { page }),
  };
  check(parameters, { unknownParameters: 'typos', typos: new TypoSearch(ignored) });
  return toReportQuery(parameters as unknown as UsageParameters, nowSeconds);
}

/** The members of a query under their plain names, so that misspelt ones are recognised. */
function withoutArrays(query: Query): Record<string, unknown> {
  return Object.fromEntries(Object.entries(query).map(([name, value]) => [name.replace(/\[\]$/, ''), value]));
}

function toReportQuery(parameters: UsageParameters, nowSeconds: number): UsageReportQuery {
  const { start_time, end_time = nowSeconds, group_by, models, tenant, limit, page } = parameters;
  const endDay = dayOf(end_time * 1000 + DAY_MS - 1);
  const firstDay = start_time === undefined ? Math.max(0, endDay - DEFAULT_DAYS) : dayOf(start_time * 1000);
  if (start_time !== undefined && start_time >= end_time) {
    const message = "Invalid 'start_time': it must be before 'end_time', which is now by default.";
    throw ApiError.of('invalid_value', message, { param: 'start_time' });
  }
  if (page !== undefined && !/^\d{1,9}$/.test(page)) {
    const message = "Invalid 'page': expected the 'next_page' of the page before.";
    throw ApiError.of('invalid_value', message, { param: 'page' });
  }
  if (endDay - firstDay > MAX_DAYS) {
    const message = `Invalid 'start_time': a report has at most ${MAX_DAYS} days. Ask for shorter ranges, one after another.`;
    throw ApiError.of('invalid_value', message, { param: 'start_time' });
  }
  return {
    ...{ firstDay, endDay, limit },
    groups: new Set(group_by),
    models: new Set(models),
    ...(tenant === undefined ? {} : { tenant }),
    ...(page === undefined ? {} : { page: Number(page) }),
  };
}
