declare const ownerBrand: unique symbol;

/** Who a response belongs to: the tenant of the credential. Every store and cache call takes one. */
export type Owner = string & { readonly [ownerBrand]: true };

/** The tenant's name as an Owner. */
export function asOwner(tenant: string): Owner {
  return tenant as Owner;
}

/** What an owner has, as a key. The length keeps apart what a separator would not: ids in requests may hold any character. */
export function ownedKey(owner: Owner, id: string): string {
  return `${owner.length}:${owner}:${id}`;
}

/** Who is calling, as far as the service is concerned. */
export interface Caller {
  readonly owner: Owner;
  /** The `x-request-id` of the request, for logs and error texts. */
  readonly requestId: string;
  /** The WebSocket connection the turn came over. */
  readonly connectionId?: string;
}
