import type { Tenant } from '../../access/index.js';
import { type WriteLease, WriteLock } from '../write-lock.js';
import { toKey } from '../keys.js';
import type { Database } from './database.js';
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
    const [row] = await this.database.query(ACQUIRE, [toKey(tenant), toKey(name), ttlMs]);
    return row && this.toLease(tenant, name, Number(row.fence), ttlMs);
  }

  /** The lease of a lock that was taken in another statement. */
  toLease(tenant: Tenant, name: string, fence: number, ttlMs: number): WriteLease {
    const lease = [toKey(tenant), toKey(name), fence] as const;
    return {
      fence,
      renew: async () => (await this.database.repeatable(RENEW, [...lease, ttlMs])).length > 0,
      release: async () => {
        await this.database.repeatable(RELEASE, lease);
      },
    };
  }
}
