import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';

/** A number that no tenant has. */
const NO_TENANT = 0;

/** The numbers of tenants. They are not cached: one that a rollback takes back is given to another tenant. */
export function tenantNumbers(database: DatabaseSync) {
  const select = database.prepare('SELECT owner FROM tenants WHERE key = ?');
  const insert = database.prepare('INSERT INTO tenants (key, name) VALUES (?, ?) RETURNING owner');
  const find = (tenant: string): number | undefined => select.get(toKey(tenant))?.['owner'] as number | undefined;
  return {
    /** The number of a tenant, or NO_TENANT if nothing is stored for it. */
    find: (tenant: string): number => find(tenant) ?? NO_TENANT,
    /** The number of a tenant, which it gets with its first record. */
    findOrCreate: (tenant: string): number =>
      find(tenant) ?? (insert.get(toKey(tenant), JSON.stringify(tenant))?.['owner'] as number),
  };
}

/** The values that VISIBLE refers to. */
export type LookValues = readonly [owner: number, now: number, within: string | null];

/**
 * The condition for response `r` to be visible; part of every look-up. `?1` is the number of the tenant, `?2` the time,
 * `?3` the key of the session of the look-up or null.
 */
export const VISIBLE = `r.owner = ?1 AND r.expires_at > ?2 AND (?3 IS NULL OR EXISTS (
    SELECT 1 FROM session_responses s
    WHERE s.owner = ?1 AND s.session_id = ?3 AND s.created_at = r.created_at AND s.id = r.id))`;

/**
 * Responses `r` that continue one. Its index is named, here and where else SQLite would take another one: it does not know how many
 * responses a tenant has.
 */
export const CONTINUING = 'responses r INDEXED BY responses_by_parent';

/** The visible response `?4` and, with `?5`, all responses that continue it. */
export const SUBTREE = `subtree (response) AS (
    SELECT r.response FROM responses r WHERE ${VISIBLE} AND r.id = ?4
    UNION ALL
    SELECT r.response FROM subtree CROSS JOIN ${CONTINUING} ON r.parent = subtree.response WHERE ?5
  )`;

/** The first values of a look-up. */
export function lookValues(
  tenants: Pick<ReturnType<typeof tenantNumbers>, 'find'>,
  tenant: string,
  now: number,
  within: string | undefined,
): LookValues {
  return [tenants.find(tenant), now, within === undefined ? null : toKey(within)];
}
