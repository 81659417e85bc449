import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../keys.js';
import {
  DAY_MS,
  toUsageSums,
  USAGE_BATCH,
  type UsageRecord,
  type UsageStore,
  type UsageSumRow,
} from '../usage-store.js';
import type { Executed } from './executed.js';

/** Stores what a turn has used, once. Names are stored as JSON, so that every text can be read back. */
export function usageRecording(database: DatabaseSync): (record: UsageRecord) => void {
  const insert = database.prepare(`INSERT OR IGNORE INTO usage
    (response_id, owner_key, tenant, key_id, model, provider, transport, background, status, ended_at,
      input, cached, output, reasoning)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  return (record) => void insert.run(...toRow(record));
}

/** Usage in SQLite. */
export function sqliteUsage(database: DatabaseSync): Executed<UsageStore> {
  const insert = usageRecording(database);
  // total() is a float: the driver gives no integer beyond 2^53.
  const sums = (where: string): string => `SELECT ended_at / ${DAY_MS} AS day, tenant, model, provider, key_id,
      count(*) AS turns, total(input) AS input, total(cached) AS cached, total(output) AS output,
      total(reasoning) AS reasoning
    FROM usage WHERE ended_at >= ? AND ended_at < ? ${where} GROUP BY 1, 2, 3, 4, 5`;
  const selectAll = database.prepare(sums(''));
  const selectOne = database.prepare(sums('AND owner_key = ?'));
  const remove = database.prepare(`DELETE FROM usage WHERE response_id IN
    (SELECT response_id FROM usage WHERE ended_at < ? LIMIT ${USAGE_BATCH})`);
  return {
    record: (records) => {
      for (const record of records) insert(record);
    },

    report: ({ firstDay, endDay, tenant }) => {
      const range = [firstDay * DAY_MS, endDay * DAY_MS] as const;
      const rows = tenant === undefined ? selectAll.all(...range) : selectOne.all(...range, toKey(tenant));
      return toUsageSums(rows as unknown as readonly UsageSumRow[]);
    },

    purge: (endedBefore) => Number(remove.run(endedBefore).changes) === USAGE_BATCH,
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
