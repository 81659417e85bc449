import { type Tenant, tenantKey } from '../../access/index.js';
import type { Clock } from '../../time/index.js';
import { type Claim, Claims } from '../claims.js';

/** Claims in memory. When there are too many, those that have expired are forgotten, and then the oldest. */
export class MemoryClaims extends Claims {
  private readonly claims = new Map<string, Claim>();

  /** `capacity`: the most claims that are kept. */
  constructor(
    private readonly clock: Clock,
    private readonly capacity: number,
  ) {
    super();
  }

  override async claim(tenant: Tenant, name: string, owner: string, expiresAt: number): Promise<string> {
    const key = tenantKey(tenant, name);
    const now = this.clock.now();
    const held = this.claims.get(key);
    if (held !== undefined && held.expiresAt > now) return held.owner;
    // The order of the map is that of the claims.
    this.claims.delete(key);
    if (this.claims.size >= this.capacity) this.makeRoom(now);
    this.claims.set(key, { name, owner, expiresAt });
    return owner;
  }

  override async held(tenant: Tenant, names: readonly string[]): Promise<readonly Claim[]> {
    const now = this.clock.now();
    return names.flatMap((name) => {
      const claim = this.claims.get(tenantKey(tenant, name));
      return claim !== undefined && claim.expiresAt > now ? [claim] : [];
    });
  }

  override async release(tenant: Tenant, name: string, owner: string): Promise<void> {
    const key = tenantKey(tenant, name);
    if (this.claims.get(key)?.owner === owner) this.claims.delete(key);
  }

  private makeRoom(now: number): void {
    for (const [key, { expiresAt }] of this.claims) if (expiresAt <= now) this.claims.delete(key);
    for (const key of this.claims.keys()) {
      if (this.claims.size < this.capacity) return;
      this.claims.delete(key);
    }
  }
}
