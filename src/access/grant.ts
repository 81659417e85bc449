import { ApiError } from '../protocol/index.js';

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

/** What credentials may permit (docs/access.md). */
export const SCOPES = ['responses:write', 'responses:read', 'responses:delete', 'admin'] as const;

/**
 * One permission. `responses:write` creates and changes, `responses:read` reads, `responses:delete` deletes, everything of the
 * tenant; `admin` uses the operator's routes, which show all tenants, and includes no other scope.
 */
export type Scope = (typeof SCOPES)[number];

/** What a credential without scopes permits: everything of its tenant. */
const TENANT_SCOPES: readonly Scope[] = ['responses:write', 'responses:read', 'responses:delete'];

/** Whom a credential belongs to, and what it permits. Plain data: it is stored with background turns. */
export interface Grant {
  readonly tenant: Tenant;
  /** Absent: all but `admin`. */
  readonly scopes?: readonly Scope[];
  /** Names of the models that it may use, with `*` for any characters; absent: all. */
  readonly models?: readonly string[];
  /** The name of the credential, for logs and usage; never the credential itself. */
  readonly keyId?: string;
  /** Until when it is valid, milliseconds since the epoch; absent: until it is revoked. */
  readonly expiresAt?: number;
}

/** Begins the key id of a JWT, before its subject. No key of KEYS_FILE has such an id. */
export const JWT_KEY_ID = 'jwt:';

/** Whether a grant permits something. */
export function permits({ scopes = TENANT_SCOPES }: Grant, scope: Scope): boolean {
  return scopes.includes(scope);
}

/** Throws ApiError 403 `missing_scope` unless a grant permits something. */
export function requireScope(grant: Grant, scope: Scope): void {
  if (permits(grant, scope)) return;
  throw ApiError.of(
    'missing_scope',
    `You have insufficient permissions for this operation. Missing scope: ${scope}. Ask your administrator for a key that has it.`,
  );
}

/** The authenticated caller of a request. */
export interface Caller extends Grant {
  /** The `x-request-id` of the request, for logs and error texts. */
  readonly requestId: string;
  /** The WebSocket connection of the turn, if any. */
  readonly connectionId?: string;
}
