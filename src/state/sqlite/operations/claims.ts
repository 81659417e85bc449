import type { DatabaseSync } from 'node:sqlite';

import { toKey } from '../../keys.js';
import { tenantNumbers } from './tenants.js';

/** What only one may have. Times are ms since the epoch. */
export function claimOperations(database: DatabaseSync) {
  const tenants = tenantNumbers(database);
  const take = database.prepare(
    `INSERT INTO claims (owner, name, holder, expires_at) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at WHERE expires_at <= ?5`,
  );
  const find = database.prepare('SELECT holder FROM claims WHERE owner = ? AND name = ?');
  const release = database.prepare('DELETE FROM claims WHERE owner = ? AND name = ? AND holder = ?');
  return {
    claim: (tenant: string, name: string, holder: string, expiresAt: number, now: number): string => {
      const claimed = [tenants.findOrCreate(tenant), toKey(name)] as const;
      take.run(...claimed, JSON.stringify(holder), expiresAt, now);
      return JSON.parse(String(find.get(...claimed)?.['holder'])) as string;
    },
    releaseClaim: (tenant: string, name: string, holder: string): void => {
      release.run(tenants.findOrCreate(tenant), toKey(name), JSON.stringify(holder));
    },
  };
}
