import { toKey } from '../../keys.js';
import type { UsageRecord } from '../../usage-store.js';

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
export function toRows(records: readonly UsageRecord[]): string {
  return JSON.stringify(records.map(toRow));
}

/** The same of the record of a response; null without one. */
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
