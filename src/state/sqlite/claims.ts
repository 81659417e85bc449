import type { Tenant } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { Claims } from '../claims.js';
import type { DatabaseThread } from './database-thread.js';

/** Claims in SQLite; a sweep forgets those that have expired. */
export class SqliteClaims extends Claims {
  constructor(
    private readonly thread: DatabaseThread,
    private readonly clock: Clock,
  ) {
    super();
  }

  override claim(tenant: Tenant, name: string, owner: string, expiresAt: number): Promise<string> {
    return this.thread.call('claim', tenant, name, owner, expiresAt, this.clock.now());
  }

  override release(tenant: Tenant, name: string, owner: string): Promise<void> {
    return this.thread.call('releaseClaim', tenant, name, owner);
  }
}
