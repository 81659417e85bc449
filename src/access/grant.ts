import { ApiError } from '../protocol/index.js';
import type { Tenant } from './tenant.js';

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
