import { describe, factsOf, isNetworkCode } from '../driver-errors.js';
import { RunLostError, StateError, StateStartError, StoreUnavailableError } from '../errors.js';

/**
 * What an error says of the database. `passing`: a retry may succeed. `lasting`: the same, but what follows may well fail too. `stale`: the connection has lost its prepared statements, or they no
 * longer fit the tables; another connection may do it. `unfit`: the operator must repair the database or the rights of the role. `internal`:
 * PostgreSQL reports a fault of itself or of its files.
 */
type Condition = 'passing' | 'lasting' | 'stale' | 'unfit' | 'internal';

/** By SQLSTATE; the first row that fits counts. What fits none is a fault of this program. */
const CONDITIONS: readonly (readonly [state: RegExp, condition: Condition])[] = [
  [/^08/, 'passing'], // connection exceptions
  [/^40/, 'passing'], // rolled back: serialization, deadlock
  [/^53/, 'lasting'], // out of connections, memory or disk
  [/^55P03$/, 'passing'], // lock not available
  [/^57/, 'passing'], // cancelled, shutting down, starting up
  [/^25006$/, 'lasting'], // read-only: a standby, during a failover
  [/^25P0[34]$/, 'passing'], // ended while idle in a transaction, or as the transaction took too long
  [/^58/, 'lasting'], // the server's system failed
  [/^26000$/, 'stale'], // no such prepared statement
  [/^42P05$/, 'stale'], // there is such a prepared statement already
  [/^42501$/, 'unfit'], // the role may not
  [/^3F000$/, 'unfit'], // no such schema
  [/^42(?:P01|P10|703|704|883)$/, 'unfit'], // no such table, unique index, column, type or function
  [/^XX/, 'internal'], // such as damaged files
];

/** Said by PostgreSQL, as 0A000, of a prepared statement over a column whose type has changed. */
const STALE_PLAN = /cached plan must not change/;

/** Errors that the driver reports without a code. */
const DRIVER_MESSAGES =
  /connection terminated|timeout exceeded|timeout expired|query read timeout|connection error|not queryable|after calling end/i;

function conditionOf(error: unknown): Condition | undefined {
  const { code, message } = factsOf(error);
  if (typeof code !== 'string') return DRIVER_MESSAGES.test(String(message)) ? 'passing' : undefined;
  if (isNetworkCode(code)) return 'passing';
  if (code === '0A000' && STALE_PLAN.test(String(message))) return 'stale';
  return CONDITIONS.find(([state]) => state.test(code))?.[1];
}

/** Whether an error is temporary: a start waits for its end. */
export function isPassing(error: unknown): boolean {
  const { errors } = factsOf(error);
  if (Array.isArray(errors)) return errors.some(isPassing);
  const condition = conditionOf(error);
  return condition === 'passing' || condition === 'lasting';
}

/** Whether a connection cannot use its prepared statements. The statement was not executed. */
export function isStale(error: unknown): boolean {
  return conditionOf(error) === 'stale';
}

/** Whether what follows may well fail too: the database is a standby now, has no room, or cannot be used as it is. */
export function isLasting(error: unknown): boolean {
  const condition = conditionOf(error);
  return condition === 'lasting' || condition === 'unfit' || condition === 'internal';
}

/** Whether the connection must be discarded after this error. */
export function breaksConnection(error: unknown): boolean {
  // Of the work within a transaction, not of the database.
  if (error instanceof StateError || error instanceof RunLostError) return false;
  const { code } = factsOf(error);
  return typeof code !== 'string' || isNetworkCode(code) || /^(?:08|57P|25006|25P0)/.test(code) || isStale(error);
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

/** Converts errors of the database to StoreUnavailableError, whether they pass or not; others are unchanged. */
export function toStoreError(error: unknown): unknown {
  if (isPassing(error)) return unavailable('the database is not available', error);
  return conditionOf(error) === undefined ? error : unavailable('the database cannot be used', error);
}

function unavailable(what: string, cause: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`${what}: ${describe(cause)}`, { cause });
}

/** What a start is refused with by a database that can never be used as it is; undefined for errors that may pass. */
export function startFaultOf(error: unknown): StateStartError | undefined {
  if (error instanceof StateStartError) return isPassing(error.cause) ? undefined : error;
  if (!(error instanceof StoreUnavailableError) || conditionOf(error.cause) !== 'unfit') return undefined;
  return new StateStartError(`DATABASE_URL: ${describe(error.cause)}`, { cause: error.cause });
}
