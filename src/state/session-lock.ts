import type { Tenant } from '../access/index.js';

/** The right to be the only writer of a session, for as long as it is not lost. */
export interface SessionLease {
  /** Grows with every lease of a session: a save under an older one is refused. */
  readonly fence: number;

  /** Puts the expiry off once more; false when the lease is lost. */
  renew(): Promise<boolean>;

  /** Gives the session back. A lease that is lost is none of its business any more. */
  release(): Promise<void>;
}

/** Lets one turn at a time write to a session, whichever replica it runs on. */
export abstract class SessionLock {
  /** A lease that expires `ttlMs` after it was last renewed, or undefined when somebody else holds the session. */
  abstract tryAcquire(tenant: Tenant, sessionId: string, ttlMs: number): Promise<SessionLease | undefined>;
}
