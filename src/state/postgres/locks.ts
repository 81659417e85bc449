import type { Tenant } from '../../access/index.js';
import { toKey } from '../keys.js';
import { adHoc, prepared } from '../sql/statement.js';
import { type WriteLease, WriteLock } from '../write-lock.js';
import type { Database } from './database.js';

type Lease = readonly [tenant: string, name: string, fence: number];

// `session_locks` holds the locks of everything that is written to, by their names: of sessions and of conversations
// (../write-lock.ts). Its column `session_id` is the name.

/** Whether somebody holds the lock of tenant `$1` with a name, by the clock of the database. */
export function isLocked(name: string): string {
  return `EXISTS (
    SELECT FROM antiphon.session_locks WHERE owner = $1 AND session_id = ${name} AND expires_at > clock_timestamp())`;
}

/**
 * Takes a lock of tenant `$1` that is free or whose lease has expired, until a time; returns the fence of the lease. The
 * row of the lock is held until the end of the transaction. `source`: where the row comes from, and on which condition.
 */
export function take(name: string, until: string, source = 'WHERE'): string {
  return `INSERT INTO antiphon.session_locks AS lock_row (owner, session_id, fence, expires_at)
  SELECT $1, ${name}, nextval('antiphon.session_fences'), ${until}
  ${source} NOT ${isLocked(name)}
  ON CONFLICT (owner, session_id) DO UPDATE SET fence = excluded.fence, expires_at = excluded.expires_at
  WHERE lock_row.expires_at <= clock_timestamp()
  RETURNING fence`;
}

/** The end of a lease that begins now and lasts so many milliseconds. */
export function leaseEnd(ttlMs: string): string {
  return `clock_timestamp() + ${ttlMs} * interval '1 millisecond'`;
}

/** Acquires a lock. */
const ACQUIRE = prepared<readonly [tenant: string, name: string, ttlMs: number], { readonly fence: string }>(
  'acquire',
  take('$2', leaseEnd('$3')),
);

const RENEW = prepared<readonly [...Lease, ttlMs: number], { readonly renewed: true }>(
  'renew',
  `UPDATE antiphon.session_locks SET expires_at = ${leaseEnd('$4')}
  WHERE owner = $1 AND session_id = $2 AND fence = $3 RETURNING true AS renewed`,
);

const RELEASE = prepared<Lease, never>(
  'release',
  `DELETE FROM antiphon.session_locks WHERE owner = $1 AND session_id = $2 AND fence = $3`,
);

/** Deletes locks left by crashed replicas. */
export const FORGET_LOCKS = adHoc<readonly [], never>(
  `DELETE FROM antiphon.session_locks WHERE expires_at < clock_timestamp() - interval '1 day'`,
);

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
