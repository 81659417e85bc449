import { type Tenant, tenantKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type SessionLease, SessionLock } from '../session-lock.js';

interface Holding {
  readonly fence: number;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Session locks within this process. */
export class MemorySessionLock extends SessionLock {
  private readonly holdings = new Map<string, Holding>();
  private lastFence = 0;

  constructor(private readonly clock: Clock) {
    super();
  }

  override async tryAcquire(tenant: Tenant, sessionId: string, ttlMs: number): Promise<SessionLease | undefined> {
    const key = tenantKey(tenant, sessionId);
    const held = this.holdings.get(key);
    if (held !== undefined && held.expiresAt > this.clock.now()) return undefined;
    const fence = (this.lastFence += 1);
    const holding = { fence, expiresAt: this.clock.now() + ttlMs };
    this.holdings.set(key, holding);
    return {
      fence,
      renew: async () => {
        holding.expiresAt = this.clock.now() + ttlMs;
        return this.isHeld(tenant, sessionId, fence);
      },
      release: async () => {
        if (this.isHeld(tenant, sessionId, fence)) this.holdings.delete(key);
      },
    };
  }

  /** Whether a lease is still the latest one. An expired lease is, until another one is acquired. */
  isHeld(tenant: Tenant, sessionId: string, fence: number): boolean {
    return this.holdings.get(tenantKey(tenant, sessionId))?.fence === fence;
  }
}
