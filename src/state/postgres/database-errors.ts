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
const DRIVER_MESSAGES =
  /connection terminated|timeout exceeded|timeout expired|query read timeout|connection error|not queryable|after calling end/i;

/**
 * What may be known of an error. Its class says nothing: it may come from another realm, as errors of Node do where a program
 * runs in a VM context, under jest for one.
 */
interface Facts {
  readonly code?: unknown;
  readonly message?: unknown;
  /** A name with several addresses fails with an error for each. */
  readonly errors?: unknown;
}

/** Whether the database is away for now, as opposed to a mistake of ours or of its configuration. */
export function isPassing(error: unknown): boolean {
  const { code, message, errors } = factsOf(error);
  if (Array.isArray(errors)) return errors.some(isPassing);
  if (typeof code !== 'string') return DRIVER_MESSAGES.test(String(message));
  return NETWORK_CODES.has(code) || PASSING_STATES.some((state) => state.test(code));
}

/** Whether a connection must not be used again after this. */
export function breaksConnection(error: unknown): boolean {
  const { code } = factsOf(error);
  return typeof code !== 'string' || NETWORK_CODES.has(code) || /^(?:08|57P|25006)/.test(code);
}

/** Whether the same may succeed at once on another connection. What took too long would take as long again. */
export function isWorthRepeating(error: unknown): boolean {
  return isPassing(error) && breaksConnection(error) && !/timeout/i.test(describe(error));
}

/** Whether the database took a transaction back because of another one: nothing of it is left, and it may run again. */
export function isRolledBack(error: unknown): boolean {
  return /^(?:40001|40P01)$/.test(String(factsOf(error).code));
}

/** Whether the database, or the role, has as many connections as it may have. */
export function isOutOfConnections(error: unknown): boolean {
  return factsOf(error).code === '53300';
}

/** What passes becomes a StoreUnavailableError; anything else stays what it is. */
export function toStoreError(error: unknown): unknown {
  if (!isPassing(error)) return error;
  return new StoreUnavailableError(`the database is not available: ${describe(error)}`, { cause: error });
}

/** An error in a line, for the log. */
export function describe(error: unknown): string {
  const { message, errors } = factsOf(error);
  if (Array.isArray(errors)) return errors.map(describe).join('; ');
  return typeof message === 'string' ? message : String(error);
}

function factsOf(error: unknown): Facts {
  return typeof error === 'object' && error !== null ? error : {};
}
