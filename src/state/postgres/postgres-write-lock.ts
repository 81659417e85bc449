import type { Tenant } from '../../access/index.js';
import { type WriteLease, WriteLock } from '../write-lock.js';
import type { Database } from './database.js';
import { toKey } from './keys.js';
import { ACQUIRE, RELEASE, RENEW } from './statements/locks.js';

/**
 * Locks across replicas. A lease is a row, not a lock of PostgreSQL: it needs no connection while a model runs,
 * it expires, and it works through a pooler.
 */
export class PostgresWriteLock extends WriteLock {
  constructor(private readonly database: Database) {
    super();
  }

  override async tryAcquire(tenant: Tenant, name: string, ttlMs: number): Promise<WriteLease | undefined> {
    const names = [toKey(tenant), toKey(name)] as const;
    const [row] = await this.database.query(ACQUIRE, [...names, ttlMs]);
    if (row === undefined) return undefined;
    const fence = Number(row.fence);
    return {
      fence,
      renew: async () => (await this.database.repeatable(RENEW, [...names, fence, ttlMs])).length > 0,
      release: async () => {
        await this.database.repeatable(RELEASE, [...names, fence]);
      },
    };
  }
}
