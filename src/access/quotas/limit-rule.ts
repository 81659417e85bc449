import type { Tenant } from '../index.js';
import { objectSchema } from '../../config/index.js';
import { matchesGlob } from '../../providers/routing/index.js';

/** A rule of LIMITS_FILE. The globs have `*` for any text and `?` for one character; a missing limit or 0 is none. */
export interface LimitRule {
  /** The tenants that it applies to; all without it. */
  readonly tenant?: string;
  /** The models that it applies to, by the name in the request; all without it. */
  readonly model?: string;
  readonly requests_per_minute?: number;
  /** Input and output. */
  readonly tokens_per_minute?: number;
  readonly concurrent_turns?: number;
  /** WebSockets of a tenant; only in rules for every model. */
  readonly sockets?: number;
  /** Searches of the web of a tenant; only in rules for every model. */
  readonly searches_per_minute?: number;
}

const count = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
const glob = { type: 'string', minLength: 1, maxLength: 256 };

const rule = objectSchema({
  tenant: glob,
  model: glob,
  requests_per_minute: count,
  tokens_per_minute: count,
  concurrent_turns: count,
  sockets: count,
  searches_per_minute: count,
});

/** The JSON Schema of LIMITS_FILE. */
export const LIMITS_SCHEMA = objectSchema(
  { limits: { type: 'array', maxItems: 1000, items: rule } },
  { required: ['limits'] },
);

/** Whether a rule applies to the turns of a tenant with a model. */
export function appliesTo(rule: LimitRule, tenant: Tenant, model: string): boolean {
  return namesTenant(rule, tenant) && (rule.model === undefined || matchesGlob(rule.model, model));
}

/** Whether a rule is for a tenant, with some model. */
export function namesTenant({ tenant: glob }: LimitRule, tenant: Tenant): boolean {
  return glob === undefined || matchesGlob(glob, tenant);
}

/** The name of the counters of a rule and a tenant: the same on all replicas, and after the file was read again. */
export function counterKey({ tenant: tenants = '*', model = '*' }: LimitRule, tenant: Tenant): string {
  return JSON.stringify([tenants, model, tenant]);
}
