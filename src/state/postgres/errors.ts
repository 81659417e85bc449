import { describe, factsOf, isNetworkCode } from '../driver-errors.js';
import { RunLostError, StateError, StoreUnavailableError } from '../errors.js';

/** PostgreSQL error classes and codes of temporary failures: a retry may succeed. */
const PASSING_STATES = [
  /^08/, // connection exceptions
  /^40/, // rolled back: serialization, deadlock
  /^53/, // out of connections, memory or disk
  /^55P03$/, // lock not available
  /^57/, // cancelled, shutting down, starting up
  /^25006$/, // read-only: a standby, during a failover
  /^58/, // the server's system failed
];

/** Errors that the driver reports without a code. */
const DRIVER_MESSAGES =
  /connection terminated|timeout exceeded|timeout expired|query read timeout|connection error|not queryable|after calling end/i;

/** Whether an error is temporary, as opposed to a programming or configuration error. */
export function isPassing(error: unknown): boolean {
  const { code, message, errors } = factsOf(error);
  if (Array.isArray(errors)) return errors.some(isPassing);
  if (typeof code !== 'string') return DRIVER_MESSAGES.test(String(message));
  return isNetworkCode(code) || PASSING_STATES.some((state) => state.test(code));
}

/** Whether the connection must be discarded after this error. */
export function breaksConnection(error: unknown): boolean {
  // Of the work within a transaction, not of the database.
  if (error instanceof StateError || error instanceof RunLostError) return false;
  const { code } = factsOf(error);
  return typeof code !== 'string' || isNetworkCode(code) || /^(?:08|57P|25006)/.test(code);
}

/** Whether a statement may succeed at once on another connection. Timeouts are not repeated. */
export function isWorthRepeating(error: unknown): boolean {
  return isPassing(error) && breaksConnection(error) && !/timeout/i.test(describe(error));
}

/** Whether the database rolled a transaction back because of a conflict: it may run again. */
export function isRolledBack(error: unknown): boolean {
  return /^(?:40001|40P01)$/.test(String(factsOf(error).code));
}

/** Whether the connection limit of the database or the role is reached. */
export function isOutOfConnections(error: unknown): boolean {
  return factsOf(error).code === '53300';
}

/** Converts temporary errors to StoreUnavailableError; others are unchanged. */
export function toStoreError(error: unknown): unknown {
  if (!isPassing(error)) return error;
  return new StoreUnavailableError(`the database is not available: ${describe(error)}`, { cause: error });
}
