import { randomUUID } from 'node:crypto';

import type { Tenant } from '../../access/index.js';
import { type WriteLease, WriteLock } from '../write-lock.js';
import type { PlaceKeys, RedisKeys } from './keys.js';
import type { Redis } from './redis.js';
import { type Command, FREES_MEMORY, run, Script } from './script.js';
import { LOCKS } from './scripts/locks.js';

/**
 * Gives a lock back.
 *
 * KEYS: 1 lease, 2 fence. ARGV: 1 place, 2 fence of the lease.
 */
const RELEASE_LOCK = new Script(`${FREES_MEMORY}${LOCKS}
release_lock(ARGV[1], ARGV[2])`);

/**
 * Prolongs a lease, which may have expired, unless somebody else has acquired the lock. It renews a lease, and it pins one:
 * nobody acquires the lock while something is saved under it in another slot.
 *
 * KEYS: 1 lease, 2 fence. ARGV: 1 place, 2 fence of the lease, 3 how long it lasts at least, ms.
 * Returns whether it is not lost.
 */
const KEEP_LOCK = new Script(`${LOCKS}
return keep_lock(ARGV[1], ARGV[2], ARGV[3]) and 1 or 0`);

/**
 * Acquires a lock that is free or whose lease has expired.
 *
 * KEYS: 1 lease, 2 fence. ARGV: 1 place, 2 holder, 3 duration of the lease, ms.
 * Returns the fence, or nil while somebody else has the lock.
 */
const ACQUIRE_LOCK = new Script(`${LOCKS}
return acquire_lock(ARGV[1], ARGV[2], ARGV[3])`);

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
