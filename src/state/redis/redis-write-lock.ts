import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import { type WriteLease, WriteLock } from '../write-lock.js';
import type { PlaceKeys, RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, run } from './script.js';
import { ACQUIRE_LOCK } from './scripts/acquire-lock.js';
import { KEEP_LOCK } from './scripts/keep-lock.js';
import { RELEASE_LOCK } from './scripts/release-lock.js';

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
    const place = this.keys.place(tenant, name);
    const keys = [place.lease, place.fence];
    const [fence] = await this.redis.write(run(ACQUIRE_LOCK, keys, place.base, randomUUID(), ttlMs));
    return typeof fence === 'string' ? this.toLease(tenant, name, Number(fence), ttlMs) : undefined;
  }

  /** The lease of a lock that was acquired by another script. */
  toLease(tenant: Tenant, name: string, fence: number, ttlMs: number): WriteLease {
    const place = this.keys.place(tenant, name);
    return {
      fence,
      renew: () => this.keep(place, fence, ttlMs),
      release: async () => {
        await this.redis.write(run(RELEASE_LOCK, [place.lease, place.fence], place.base, fence));
      },
    };
  }

  /**
   * Has nobody else acquire a lock for as long as two commands may take, so that what is saved under it in another slot is
   * saved in order. False when the lease is lost. Throws StoreUnavailableError.
   */
  pin(tenant: Tenant, name: string, fence: number): Promise<boolean> {
    // A command that failed may have been repeated.
    return this.keep(this.keys.place(tenant, name), fence, 2 * this.commandTimeoutMs);
  }

  private async keep(place: PlaceKeys, fence: number, ttlMs: number): Promise<boolean> {
    const command: Command = run(KEEP_LOCK, [place.lease, place.fence], place.base, fence, ttlMs);
    const [isKept] = await this.redis.write(command);
    return isKept === 1;
  }
}
