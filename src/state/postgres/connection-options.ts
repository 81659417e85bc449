import type { ClientConfig } from 'pg';

import type { Environment } from '../../config/index.js';

/** How the database is reached. */
export type DatabaseSettings = Pick<
  Environment,
  | 'DATABASE_URL'
  | 'DATABASE_DIRECT_URL'
  | 'DATABASE_POOL_SIZE'
  | 'DATABASE_CONNECT_TIMEOUT_MS'
  | 'DATABASE_STATEMENT_TIMEOUT_MS'
  | 'DATABASE_MIGRATE'
  | 'CONTEXT_MAX_BYTES'
>;

/** How long a dead connection may stay unnoticed, ms, before TCP asks. */
const KEEPALIVE_MS = 10_000;
/** A statement is given up here a little after the database itself should have done so, ms. */
const GRACE_MS = 1000;

/** Whether connections are shared by a pooler: then nothing may be left in them from one transaction to the next. */
export function isPooled({ DATABASE_DIRECT_URL }: DatabaseSettings): boolean {
  return DATABASE_DIRECT_URL !== '';
}

/** Options for the statements of requests. */
export function requestOptions(settings: DatabaseSettings): ClientConfig {
  const { DATABASE_URL, DATABASE_STATEMENT_TIMEOUT_MS: timeout } = settings;
  return {
    ...connectionTo(DATABASE_URL, settings),
    query_timeout: timeout + GRACE_MS,
    // Poolers refuse settings they do not know at the start of a connection.
    ...(isPooled(settings) ? {} : { application_name: 'antiphon', statement_timeout: timeout }),
  };
}

/** Options for what needs a session of its own: notices and migrations. */
export function directOptions(settings: DatabaseSettings): ClientConfig {
  const url = isPooled(settings) ? settings.DATABASE_DIRECT_URL : settings.DATABASE_URL;
  return { ...connectionTo(url, settings), application_name: 'antiphon' };
}

function connectionTo(connectionString: string, { DATABASE_CONNECT_TIMEOUT_MS }: DatabaseSettings): ClientConfig {
  return {
    connectionString,
    connectionTimeoutMillis: DATABASE_CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEPALIVE_MS,
  };
}
