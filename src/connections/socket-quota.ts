import type { Tenant } from '../access/index.js';

/** How many sockets a tenant may have open. The ConnectionRegistry counts those of its process, and says when they change. */
export abstract class SocketQuota {
  /** The sockets that a tenant may have, over all replicas; 0 for no limit. */
  abstract limitOf(tenant: Tenant): number;

  /** Those that the tenant has on other replicas, as far as is known. */
  abstract elsewhere(tenant: Tenant): number;

  /** A socket of the tenant was opened. */
  abstract opened(tenant: Tenant): void;

  /** A socket of the tenant was closed. */
  abstract closed(tenant: Tenant): void;
}
