import type { DatabaseSync } from 'node:sqlite';

import type { Claim, Claims } from '../claims.js';
import { toKey } from '../keys.js';
import type { Executed } from './executed.js';
import { tenantNumbers } from './statements/visible.js';

/** Claims in SQLite; a sweep forgets those that have expired. */
export function sqliteClaims(database: DatabaseSync, now: () => number): Executed<Claims> {
  const tenants = tenantNumbers(database);
  const take = database.prepare(
    `INSERT INTO claims (owner, name, holder, expires_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at WHERE expires_at <= ?5`,
  );
  const find = database.prepare('SELECT holder FROM claims WHERE owner = ? AND name = ?');
  const look = database.prepare(
    'SELECT holder, expires_at FROM claims WHERE owner = ? AND name = ? AND expires_at > ?',
  );
  const remove = database.prepare('DELETE FROM claims WHERE owner = ? AND name = ? AND holder = ?');
  return {
    claim: (tenant, name, owner, expiresAt) => {
      const claimed = [tenants.findOrCreate(tenant), toKey(name)] as const;
      take.run(...claimed, JSON.stringify(owner), expiresAt, now());
      return JSON.parse(String(find.get(...claimed)?.['holder'])) as string;
    },

    held: (tenant, names) => {
      const owner = tenants.find(tenant);
      return names.flatMap((name): readonly Claim[] => {
        const row = look.get(owner, toKey(name), now());
        if (row === undefined) return [];
        return [{ name, owner: JSON.parse(String(row['holder'])) as string, expiresAt: Number(row['expires_at']) }];
      });
    },

    release: (tenant, name, owner) => void remove.run(tenants.findOrCreate(tenant), toKey(name), JSON.stringify(owner)),
  };
}
