declare const ownerBrand: unique symbol;

/** Who a response belongs to: the tenant of the credential. Every store and cache call takes one. */
export type Owner = string & { readonly [ownerBrand]: true };

/** The tenant's name as an Owner. */
export function asOwner(tenant: string): Owner {
  return tenant as Owner;
}

/** Who is calling, as far as the service is concerned. */
export interface Caller {
  readonly owner: Owner;
  /** The `x-request-id` of the request, for logs and error texts. */
  readonly requestId: string;
  /** The WebSocket connection the turn came over. */
  readonly connectionId?: string;
}
