import type { Tenant } from '../../access/index.js';
import { type SessionLease, SessionLock } from '../session-lock.js';
import type { Database } from './database.js';
import { toKey } from './keys.js';
import { ACQUIRE, RELEASE, RENEW } from './statements/locks.js';

/**
 * Session locks across replicas. A lease is a row, not a lock of PostgreSQL: it needs no connection while a model runs,
 * it expires, and it works through a pooler.
 */
export class PostgresSessionLock extends SessionLock {
  constructor(private readonly database: Database) {
    super();
  }

  override async tryAcquire(tenant: Tenant, sessionId: string, ttlMs: number): Promise<SessionLease | undefined> {
    const names = [toKey(tenant), toKey(sessionId)] as const;
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
