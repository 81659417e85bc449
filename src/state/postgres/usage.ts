import { toKey } from '../keys.js';
import { prepared } from '../sql/statement.js';
import {
  DAY_MS,
  toUsageSums,
  USAGE_BATCH,
  type UsageQuery,
  type UsageRecord,
  UsageStore,
  type UsageSum,
  type UsageSumRow,
} from '../usage-store.js';
import type { Database } from './database.js';

const COLUMNS = `response_id, owner_key, ended_at, input, cached, output, reasoning, background, transport, status, tenant, key_id,
    model, provider`;

/**
 * Stores usage, once per response.
 *
 * @param rows where the statement has them, as of `toRows`
 * @param from what they depend on
 */
export function insertUsage(rows: string, from = ''): string {
  return `INSERT INTO antiphon.usage (${COLUMNS})
    SELECT ${COLUMNS.replaceAll(/\w+/g, 'used.$&')} FROM ${from}json_populate_recordset(NULL::antiphon.usage, ${rows}::json) used
    ON CONFLICT (response_id) DO NOTHING`;
}

/** Records as JSON, for `insertUsage`. */
function toRows(records: readonly UsageRecord[]): string {
  return JSON.stringify(records.map(toRow));
}

/** The record of a response as JSON, for `insertUsage`; null without one. */
export function toUsageRow(record: UsageRecord | undefined): string | null {
  return record === undefined ? null : toRows([record]);
}

function toRow(record: UsageRecord): object {
  const { responseId, tenant, keyId, model, provider, transport, background, status, endedAt } = record;
  return {
    response_id: toKey(responseId),
    owner_key: toKey(tenant),
    ended_at: endedAt,
    ...record.tokens,
    ...{ background, transport, status },
    tenant: JSON.stringify(tenant),
    key_id: JSON.stringify(keyId),
    model: JSON.stringify(model),
    provider: JSON.stringify(provider),
  };
}

const RECORD = prepared<readonly [rows: string], never>('record_usage', insertUsage('$1'));

const SUMS = (where: string): string => `SELECT (ended_at / ${DAY_MS})::integer AS day, tenant, model, provider, key_id,
    count(*)::float8 AS turns, sum(input)::float8 AS input, sum(cached)::float8 AS cached,
    sum(output)::float8 AS output, sum(reasoning)::float8 AS reasoning
  FROM antiphon.usage WHERE ended_at >= $1 AND ended_at < $2 ${where} GROUP BY 1, 2, 3, 4, 5`;

const REPORT_ALL = prepared<readonly [start: number, end: number], UsageSumRow>('report_all_usage', SUMS(''));
const REPORT = prepared<readonly [start: number, end: number, owner: string], UsageSumRow>(
  'report_usage',
  SUMS('AND owner_key = $3'),
);

const PURGE = prepared<readonly [endedBefore: number], { readonly count: number }>(
  'purge_usage',
  `WITH purged AS (
    DELETE FROM antiphon.usage WHERE response_id IN (
      SELECT response_id FROM antiphon.usage WHERE ended_at < $1 LIMIT ${USAGE_BATCH} FOR UPDATE SKIP LOCKED
    ) RETURNING 1
  ) SELECT count(*)::integer AS count FROM purged`,
);

/** Usage in PostgreSQL. */
export class PostgresUsageStore extends UsageStore {
  constructor(private readonly database: Database) {
    super();
  }

  override async record(records: readonly UsageRecord[]): Promise<void> {
    await this.database.repeatable(RECORD, [toRows(records)]);
  }

  override async report({ firstDay, endDay, tenant }: UsageQuery): Promise<readonly UsageSum[]> {
    const [start, end] = [firstDay * DAY_MS, endDay * DAY_MS];
    const rows =
      tenant === undefined
        ? await this.database.repeatable(REPORT_ALL, [start, end])
        : await this.database.repeatable(REPORT, [start, end, toKey(tenant)]);
    return toUsageSums(rows);
  }

  override async purge(endedBefore: number): Promise<boolean> {
    const [row] = await this.database.repeatable(PURGE, [endedBefore]);
    return row?.count === USAGE_BATCH;
  }
}
