import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';

/** No tenant has this number. */
export const NOBODY = 0;

/** The numbers of tenants. They are not cached: one that a rollback takes back is given to another tenant. */
export function tenantNumbers(database: DatabaseSync) {
  const select = database.prepare('SELECT owner FROM tenants WHERE key = ?');
  const insert = database.prepare('INSERT INTO tenants (key, name) VALUES (?, ?) RETURNING owner');
  const find = (tenant: string): number | undefined => select.get(toKey(tenant))?.['owner'] as number | undefined;
  return {
    /** The number of a tenant, or NOBODY if nothing is stored for it. */
    find: (tenant: string): number => find(tenant) ?? NOBODY,
    /** The number of a tenant, which it gets with its first record. */
    findOrCreate: (tenant: string): number =>
      find(tenant) ?? (insert.get(toKey(tenant), JSON.stringify(tenant))?.['owner'] as number),
  };
}
