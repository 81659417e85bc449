import type { Tenant } from '../access/index.js';

/** The exclusive right to write to something, until it is released or lost. */
export interface WriteLease {
  /** Increases with every lease of the same name: a save with an older fence is refused. */
  readonly fence: number;

  /** Extends the lease; false when it is lost. */
  renew(): Promise<boolean>;

  /** Releases the lock. Does nothing when the lease is lost. */
  release(): Promise<void>;
}

/** Serialises writes across replicas: to a session, under its name, or to a conversation, under `conversationLock`. */
export abstract class WriteLock {
  /** Returns a lease that expires `ttlMs` after it was last renewed, or undefined when another one holds the lock. */
  abstract tryAcquire(tenant: Tenant, name: string, ttlMs: number): Promise<WriteLease | undefined>;
}

/** The name of a conversation's lock. It has a space, which the name of a session cannot have. */
export function conversationLock(conversationId: string): string {
  return `conversation ${conversationId}`;
}
