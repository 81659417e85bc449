import { toKey } from '../keys.js';
import { prepared, type Statement } from './statement.js';

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
export const OWNERS_BY_KEY: Owners = { find: toKey, findOrCreate: toKey };

/** What differs in the SQL of databases. Placeholders are `$1` and so on. */
export interface SqlDialect {
  /** A table. */
  readonly table: (name: string) => string;
  /** A whole number, which a driver could also give as a text. */
  readonly number: (expression: string) => string;
  /** The greatest of several values. */
  readonly greatest: (...values: readonly string[]) => string;
  /** Whether a column is in a list of texts. */
  readonly isIn: (column: string, list: string) => string;
  /** A value that may be null, and a text otherwise. */
  readonly text: (value: string) => string;
  /** Waits for others that do the same for a tenant, until the end of the transaction; null where nobody else does anything meanwhile. */
  readonly lock: (name: string, what: string) => Statement<readonly [owner: Owner], unknown> | null;
  /** Ends a query, and holds its rows until the end of the transaction: nobody else changes them. */
  readonly held: string;
  /** Ends a query of rows that nobody else holds, and holds them until the end of the transaction. */
  readonly skipping: string;
}

export const POSTGRES: SqlDialect = {
  table: (name) => `antiphon.${name}`,
  number: (expression) => `(${expression})::float8`,
  greatest: (...values) => `greatest(${values.join(', ')})`,
  isIn: (column, list) => `${column} = ANY (${list}::text[])`,
  text: (value) => `${value}::text`,
  lock: (name, what) => prepared(name, `SELECT pg_advisory_xact_lock(hashtextextended('antiphon ${what} ' || $1, 0))`),
  held: 'FOR UPDATE',
  skipping: 'FOR UPDATE SKIP LOCKED',
};

/** SQLite has one connection, so that rows need no locks. Lists are JSON. */
export const SQLITE: SqlDialect = {
  table: (name) => name,
  number: (expression) => expression,
  greatest: (...values) => `max(${values.join(', ')})`,
  isIn: (column, list) => `${column} IN (SELECT value FROM json_each(${list}))`,
  text: (value) => value,
  lock: () => null,
  held: '',
  skipping: '',
};
