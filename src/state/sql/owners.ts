import { toKey } from '../keys.js';

/** A tenant as rows name it: by the key of its name, or by a number. */
export type Owner = string | number;

/** The tenants of a database. */
export interface Owners {
  /** A tenant that may have something. */
  readonly find: (tenant: string) => Owner;
  /** A tenant that gets something. */
  readonly findOrCreate: (tenant: string) => Owner;
}

/** Tenants that are named by their keys. */
export const KEYS: Owners = { find: toKey, findOrCreate: toKey };
