import type { ClientConfig } from 'pg';

import type { Environment } from '../../config/index.js';

/** The variables of the database. */
export type DatabaseSettings = Pick<
  Environment,
  | 'DATABASE_URL'
  | 'DATABASE_DIRECT_URL'
  | 'DATABASE_POOL_SIZE'
  | 'DATABASE_CONNECT_TIMEOUT_MS'
  | 'DATABASE_STATEMENT_TIMEOUT_MS'
  | 'DATABASE_MIGRATE'
  | 'POSTGRES_VECTORS'
  | 'CONTEXT_MAX_BYTES'
>;

/** Idle time before TCP keepalives detect a dead connection, ms. */
const KEEPALIVE_MS = 10_000;

/** Whether connections go through a pooler: then they must hold no state between transactions. */
export function isPooled({ DATABASE_DIRECT_URL }: DatabaseSettings): boolean {
  return DATABASE_DIRECT_URL !== '';
}

/** Options for the statements of requests. */
export function requestOptions(settings: DatabaseSettings): ClientConfig {
  const { DATABASE_URL, DATABASE_STATEMENT_TIMEOUT_MS: timeout } = settings;
  return {
    ...connectionTo(DATABASE_URL, settings),
    // Poolers refuse unknown settings when a connection starts.
    ...(isPooled(settings) ? {} : { application_name: 'antiphon', statement_timeout: timeout }),
  };
}

/** Options for notices and migrations, which need a session of their own. */
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
