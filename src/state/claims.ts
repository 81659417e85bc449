import type { Tenant } from '../access/index.js';

/** What only one may have, agreed among all replicas: an approval that is used once, for example. */
export abstract class Claims {
  /**
   * The owner of a name within a tenant: the first of all replicas to claim it before `expiresAt` (Unix ms); every later caller gets
   * that owner, the first one again too. After `expiresAt` the name is free; a later claim does not move that time. Throws
   * StoreUnavailableError.
   */
  abstract claim(tenant: Tenant, name: string, owner: string, expiresAt: number): Promise<string>;
}
