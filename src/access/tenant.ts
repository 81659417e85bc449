declare const tenantBrand: unique symbol;

/** Who a response belongs to: the tenant of the credential. Every store and cache call takes one. */
export type Tenant = string & { readonly [tenantBrand]: true };

/** The tenant's name as a Tenant. */
export function asTenant(tenant: string): Tenant {
  return tenant as Tenant;
}

/** What a tenant has, as a key. The length keeps apart what a separator would not: ids in requests may hold any character. */
export function ownedKey(tenant: Tenant, id: string): string {
  return `${tenant.length}:${tenant}:${id}`;
}

/** Who is calling, as far as the service is concerned. */
export interface Caller {
  readonly tenant: Tenant;
  /** The `x-request-id` of the request, for logs and error texts. */
  readonly requestId: string;
  /** The WebSocket connection the turn came over. */
  readonly connectionId?: string;
}
