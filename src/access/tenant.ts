declare const tenantBrand: unique symbol;

/** The tenant that a response belongs to, taken from the credential. Every call of a store or cache takes one. */
export type Tenant = string & { readonly [tenantBrand]: true };

/** The tenant's name as a Tenant. */
export function asTenant(tenant: string): Tenant {
  return tenant as Tenant;
}

/**
 * A key that is unique per tenant and id. The length prefix keeps it unambiguous: ids in requests may contain any
 * character.
 */
export function tenantKey(tenant: Tenant, id: string): string {
  return `${tenant.length}:${tenant}:${id}`;
}
