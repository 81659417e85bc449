import type { Tenant } from '../access/index.js';
import type { MaybePromise } from '../time/index.js';

/** What a tenant has been given for a socket. */
export interface SocketPlace {
  /** The sockets that the tenant may have, over all replicas; 0 for no limit. */
  readonly limit: number;
  /** Gives the place back, once; missing when the tenant has reached its limit, and got none. */
  readonly release?: () => void;
}

/** How many sockets a tenant may have open. */
export abstract class SocketQuota {
  /** Takes a place for a socket of a tenant. Never rejects. */
  abstract take(tenant: Tenant): MaybePromise<SocketPlace>;
}
