import type { Tenant } from '../access/index.js';

/** The exclusive right to write to a session, until it is released or lost. */
export interface SessionLease {
  /** Increases with every lease of a session: a save with an older fence is refused. */
  readonly fence: number;

  /** Extends the lease; false when it is lost. */
  renew(): Promise<boolean>;

  /** Releases the session. Does nothing when the lease is lost. */
  release(): Promise<void>;
}

/** Serialises writes to a session across replicas. */
export abstract class SessionLock {
  /** Returns a lease that expires `ttlMs` after it was last renewed, or undefined when the session is locked. */
  abstract tryAcquire(tenant: Tenant, sessionId: string, ttlMs: number): Promise<SessionLease | undefined>;
}
