import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import { type WriteLease, WriteLock } from '../write-lock.js';
import type { RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { run } from './script.js';
import { ACQUIRE_LOCK, KEEP_LOCK, RELEASE_LOCK } from './scripts/locks.js';

/** Locks across replicas: a key that expires, by the clock of Redis, and the fence of the latest lease. */
export class RedisWriteLock extends WriteLock {
  constructor(
    private readonly redis: Redis,
    private readonly keys: RedisKeys,
    /** How long a command may take, ms. */
    private readonly commandTimeoutMs: number,
  ) {
    super();
  }

  override async tryAcquire(tenant: Tenant, name: string, ttlMs: number): Promise<WriteLease | undefined> {
    const { base } = this.keys.slot(tenant, name);
    const [fence] = await this.redis.write(run(ACQUIRE_LOCK, [base], randomUUID(), ttlMs));
    return typeof fence === 'string' ? this.toLease(tenant, name, Number(fence), ttlMs) : undefined;
  }

  /** The lease of a lock that was acquired by another script. */
  toLease(tenant: Tenant, name: string, fence: number, ttlMs: number): WriteLease {
    const { base } = this.keys.slot(tenant, name);
    return {
      fence,
      renew: () => this.keep(base, fence, ttlMs),
      release: async () => {
        await this.redis.write(run(RELEASE_LOCK, [base], fence));
      },
    };
  }

  /**
   * Has nobody else acquire a lock for as long as two commands may take, so that what is saved under it in another slot is
   * saved in order. False when the lease is lost. Throws StoreUnavailableError.
   */
  pin(tenant: Tenant, name: string, fence: number): Promise<boolean> {
    // A command that failed may have been repeated.
    return this.keep(this.keys.slot(tenant, name).base, fence, 2 * this.commandTimeoutMs);
  }

  private async keep(base: string, fence: number, ttlMs: number): Promise<boolean> {
    const [isKept] = await this.redis.write(run(KEEP_LOCK, [base], fence, ttlMs));
    return isKept === 1;
  }
}
