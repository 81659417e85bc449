import type { DatabaseSync } from 'node:sqlite';

import type { Tenant } from '../../../access/index.js';
import { toKey } from '../../keys.js';
import { DAY_MS, type UsageQuery, type UsageRecord, type UsageSum } from '../../usage-store.js';

/** Rows that one purge deletes at most. */
const BATCH = 1000;

/** Stores what a turn has used, once. Names are stored as JSON, so that every text can be read back. */
export function usageRecording(database: DatabaseSync): (record: UsageRecord) => void {
  const insert = database.prepare(`INSERT OR IGNORE INTO usage
    (response_id, owner_key, tenant, key_id, model, provider, transport, background, status, ended_at,
      input, cached, output, reasoning)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  return (record) => void insert.run(...toRow(record));
}

/** What turns have used. */
export function usageOperations(database: DatabaseSync) {
  const record = usageRecording(database);
  // total() is a float: the driver gives no integer beyond 2^53.
  const sums = (where: string): string => `SELECT ended_at / ${DAY_MS} AS day, tenant, model, provider, key_id,
      count(*) AS turns, total(input) AS input, total(cached) AS cached, total(output) AS output,
      total(reasoning) AS reasoning
    FROM usage WHERE ended_at >= ? AND ended_at < ? ${where} GROUP BY 1, 2, 3, 4, 5`;
  const selectAll = database.prepare(sums(''));
  const selectOne = database.prepare(sums('AND owner_key = ?'));
  const purge = database.prepare(`DELETE FROM usage WHERE response_id IN
    (SELECT response_id FROM usage WHERE ended_at < ? LIMIT ${BATCH})`);
  return {
    recordUsage: (records: readonly UsageRecord[]): void => {
      for (const one of records) record(one);
    },
    reportUsage: ({ firstDay, endDay, tenant }: UsageQuery): readonly UsageSum[] => {
      const range = [firstDay * DAY_MS, endDay * DAY_MS] as const;
      const rows = tenant === undefined ? selectAll.all(...range) : selectOne.all(...range, toKey(tenant));
      return rows.map(toSum);
    },
    purgeUsage: (endedBefore: number): boolean => Number(purge.run(endedBefore).changes) === BATCH,
  };
}

function toRow({ tokens, ...record }: UsageRecord): readonly (string | number)[] {
  return [
    ...[toKey(record.responseId), toKey(record.tenant)],
    ...[record.tenant, record.keyId, record.model, record.provider].map((name) => JSON.stringify(name)),
    ...[record.transport, record.background ? 1 : 0, record.status, record.endedAt],
    ...[tokens.input, tokens.cached, tokens.output, tokens.reasoning],
  ];
}

function toSum(row: Readonly<Record<string, unknown>>): UsageSum {
  const name = (column: string): unknown => JSON.parse(String(row[column]));
  return {
    day: Number(row['day']),
    tenant: name('tenant') as Tenant,
    model: name('model') as string,
    provider: name('provider') as string | null,
    keyId: name('key_id') as string | null,
    turns: Number(row['turns']),
    tokens: {
      input: Number(row['input']),
      cached: Number(row['cached']),
      output: Number(row['output']),
      reasoning: Number(row['reasoning']),
    },
  };
}
