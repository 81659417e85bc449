import { describe, factsOf, isNetworkCode } from '../driver-errors.js';
import { StateError, StoreUnavailableError } from '../errors.js';
import { reasonOf, replyOf } from './reason.js';
import { UnknownPrimaryError } from './sentinel-round.js';

/** Replies of Redis that say that it cannot do it now: a retry may succeed. */
const PASSING_REPLIES =
  /^(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|OOM|BUSY|NOREPLICAS|MISCONF|NOAUTH|UNBLOCKED|ERR max number of clients)\b/;
/** Those of a node that is not, or no longer, the one to ask. */
const MISDIRECTED_REPLIES = /^(?:READONLY|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN)\b/;
/** Errors that the driver reports without a code. */
const DRIVER_MESSAGES =
  /connection is closed|stream isn't writeable|command timed out|command aborted|max retries per request|sentinels are unreachable|^no sentinel names the primary|failed to refresh slots|cluster isn't ready|cluster is ended|none of startup nodes|socket closed|connection was closed/i;

/** Whether an error is temporary, as opposed to a programming or configuration error. */
export function isPassing(error: unknown): boolean {
  const { code, errors } = factsOf(error);
  if (Array.isArray(errors)) return errors.some(isPassing);
  if (error instanceof UnknownPrimaryError || (typeof code === 'string' && isNetworkCode(code))) return true;
  const text = replyOf(error);
  return PASSING_REPLIES.test(text) || DRIVER_MESSAGES.test(text);
}

/** Whether the server is no primary, so that its name may mean another one by now. */
export function isDemoted(error: unknown): boolean {
  return /^(?:READONLY|MASTERDOWN)\b/.test(replyOf(error));
}

/** Whether a command may succeed at once when it is sent again. Timeouts are not repeated. */
export function isWorthRepeating(error: unknown): boolean {
  return (
    MISDIRECTED_REPLIES.test(replyOf(error)) ||
    replyOf(error).startsWith('NOSCRIPT') ||
    (isPassing(error) && isBroken(error))
  );
}

/** Whether a slot is on its way to another node. */
export function isMoving(error: unknown): boolean {
  return /^(?:ASK|TRYAGAIN)\b/.test(replyOf(error));
}

/** Whether nothing was heard for too long: the connection may be dead. */
export function isTimeout(error: unknown): boolean {
  return /command timed out/i.test(describe(error));
}

/** Whether Redis refuses who asks or what is asked for good, or is not who it should be. */
export function isRefusal(error: unknown): boolean {
  return /^(?:WRONGPASS|NOAUTH|NOPERM|ERR (?:invalid password|AUTH|DB index|invalid DB|unknown command))|certificate/.test(
    describe(error),
  );
}

/** Converts temporary errors to StoreUnavailableError; others are unchanged. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof StateError || !isPassing(error)) return error;
  return new StoreUnavailableError(`Redis is not available: ${reasonOf(error)}`, { cause: error });
}

function isBroken(error: unknown): boolean {
  return !isTimeout(error) && !PASSING_REPLIES.test(replyOf(error));
}
