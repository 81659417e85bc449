import { type Tenant, tenantKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type WriteLease, WriteLock } from '../write-lock.js';

interface Holding {
  readonly fence: number;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Locks within this process. */
export class InProcessLock extends WriteLock {
  private readonly holdings = new Map<string, Holding>();
  private lastFence = 0;

  constructor(private readonly clock: Clock) {
    super();
  }

  override async tryAcquire(tenant: Tenant, name: string, ttlMs: number): Promise<WriteLease | undefined> {
    const key = tenantKey(tenant, name);
    const held = this.holdings.get(key);
    if (held !== undefined && held.expiresAt > this.clock.now()) return undefined;
    const fence = (this.lastFence += 1);
    const holding = { fence, expiresAt: this.clock.now() + ttlMs };
    this.holdings.set(key, holding);
    return {
      fence,
      renew: async () => {
        holding.expiresAt = this.clock.now() + ttlMs;
        return this.isHeld(tenant, name, fence);
      },
      release: async () => this.release(tenant, name, fence),
    };
  }

  /** Releases a lease; does nothing when it is lost. */
  release(tenant: Tenant, name: string, fence: number): void {
    if (this.isHeld(tenant, name, fence)) this.holdings.delete(tenantKey(tenant, name));
  }

  /** Whether a lease has not expired. */
  isLocked(tenant: Tenant, name: string): boolean {
    return (this.holdings.get(tenantKey(tenant, name))?.expiresAt ?? 0) > this.clock.now();
  }

  /** The fence of the latest lease, which may have expired; undefined when it was released. */
  fenceOf(tenant: Tenant, name: string): number | undefined {
    return this.holdings.get(tenantKey(tenant, name))?.fence;
  }

  /** Ends a lease that has expired: what it saves comes too late. */
  revoke(tenant: Tenant, name: string): void {
    this.holdings.delete(tenantKey(tenant, name));
  }

  /** Whether a lease is still the latest one. An expired lease is, until another one is acquired. */
  isHeld(tenant: Tenant, name: string, fence: number): boolean {
    return this.holdings.get(tenantKey(tenant, name))?.fence === fence;
  }
}
