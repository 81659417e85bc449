import { StoreUnavailableError } from '../errors.js';

/** Classes and codes of PostgreSQL that say nothing about the statement: another try may well succeed. */
const PASSING_STATES = [
  /^08/, // connection exceptions
  /^40/, // rolled back: serialization, deadlock
  /^53/, // out of connections, memory or disk
  /^55P03$/, // lock not available
  /^57/, // cancelled, shutting down, starting up
  /^25006$/, // read-only: a standby, during a failover
  /^58/, // the server's system failed
];

/** Node's codes of connections that cannot be made or break. */
const NETWORK_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);

/** What the driver says in words only. */
const DRIVER_MESSAGES = /connection terminated|timeout exceeded|query read timeout|connection error|not queryable/i;

/** Whether the database is away for now, as opposed to a mistake of ours or of its configuration. */
export function isPassing(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isPassing);
  const code = codeOf(error);
  if (code === undefined) return DRIVER_MESSAGES.test(error.message);
  return NETWORK_CODES.has(code) || PASSING_STATES.some((state) => state.test(code));
}

/** Whether a connection must not be used again after this. */
export function breaksConnection(error: unknown): boolean {
  const code = codeOf(error);
  return code === undefined || NETWORK_CODES.has(code) || /^(?:08|57P|25006)/.test(code);
}

/** Whether the same may succeed at once on another connection. What took too long would take as long again. */
export function isWorthRepeating(error: unknown): boolean {
  return error instanceof Error && breaksConnection(error) && !/timeout/i.test(error.message);
}

/** What passes becomes a StoreUnavailableError; anything else stays what it is. */
export function toStoreError(error: unknown): unknown {
  if (!isPassing(error)) return error;
  return new StoreUnavailableError('the database is not available', { cause: error });
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}
