import type { Tenant } from '../access/index.js';

/** A name that has an owner, until `expiresAt` (Unix ms). */
export interface Claim {
  readonly name: string;
  readonly owner: string;
  readonly expiresAt: number;
}

/** The name that an answer to a request for an approval claims for its response. */
export function claimOfApproval(requestId: string): string {
  return `mcp-approval:${requestId}`;
}

/** What only one may have, agreed among all replicas: an approval that is used once, for example. */
export abstract class Claims {
  /**
   * The owner of a name within a tenant: the first of all replicas to claim it, until its `expiresAt` (Unix ms). Until then every
   * caller gets that owner, the first one again too, and moves nothing; from then on the name is free. Throws StoreUnavailableError.
   */
  abstract claim(tenant: Tenant, name: string, owner: string, expiresAt: number): Promise<string>;

  /** Returns the names that have an owner now, in any order. Throws StoreUnavailableError. */
  abstract held(tenant: Tenant, names: readonly string[]): Promise<readonly Claim[]>;

  /** Frees a name that an owner has claimed. Does nothing to one that is free or belongs to another owner. Throws StoreUnavailableError. */
  abstract release(tenant: Tenant, name: string, owner: string): Promise<void>;
}
