import type { Redis as Client } from 'ioredis';

import { describe, factsOf, isNetworkCode } from '../driver-errors.js';
import { ConversationChangedError, StateError, StoreUnavailableError, WriteLockLostError } from '../errors.js';
import { conversationLock } from '../write-lock.js';

/** Replies of Redis that say that it cannot do it now: a retry may succeed. */
const PASSING_REPLIES =
  /^(?:READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|OOM|BUSY|NOREPLICAS|MISCONF|NOAUTH|WRONGPASS|UNBLOCKED|EXECABORT|(?:ERR )?Script killed|ERR max number of clients)\b/;
/**
 * Replies that say that the operator must change the rights of the user, or the commands of the server. Of a script, Redis 7.0 says 'The user
 * executing the script', later versions and Valkey 'ACL failure in script'.
 */
const UNFIT_REPLIES = /^(?:NOPERM|ERR unknown command|ERR The user executing the script|ERR ACL failure in script)\b/;
/** Replies of a node that is not, or no longer, the one to ask. */
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
  const said = /^(?:WRONGPASS|NOAUTH|ERR (?:invalid password|AUTH|DB index|invalid DB))|certificate/;
  return isUnfit(error) || said.test(describe(error));
}

/** Whether Redis forbids what is asked. */
export function isUnfit(error: unknown): boolean {
  return UNFIT_REPLIES.test(replyOf(error));
}

/** Converts temporary errors, and refusals of a user or a command, to StoreUnavailableError; others are unchanged. */
export function toStoreError(error: unknown): unknown {
  if (error instanceof StateError) return error;
  return isPassing(error) || isUnfit(error) ? toUnavailable(error) : error;
}

/** The error of a request that cannot be sent, or that Redis cannot answer now. */
export function toUnavailable(error: unknown): StoreUnavailableError {
  return new StoreUnavailableError(`Redis is not available: ${reasonOf(error)}`, { cause: error });
}

function isBroken(error: unknown): boolean {
  return !isTimeout(error) && !PASSING_REPLIES.test(replyOf(error));
}

/** Why a turn is not appended to its conversation (scripts/conversations.ts, `turnRefusal`). */
export type TurnRefusal = 'lost' | 'deleted' | 'changed';

/** The error of a turn that is refused. */
export function toTurnError(
  refusal: TurnRefusal,
  conversationId: string,
): WriteLockLostError | ConversationChangedError {
  if (refusal === 'lost') return new WriteLockLostError(conversationLock(conversationId));
  return new ConversationChangedError(conversationId, refusal === 'deleted');
}

/** The name of the Sentinel, and what went wrong with it. */
const FAILURE = /^(?:failed to connect|connected) to sentinel (\S+) (?:because|successfully, but got an) (.*)$/s;
/** What a Sentinel says that does not watch a primary of this name. */
const UNAWARE = /^(?:ERR No such master|invalid reply: null)/i;

/** Every Sentinel answers, and none of them watches a primary of this name. */
export class UnknownPrimaryError extends Error {
  override readonly name = 'UnknownPrimaryError';

  constructor(readonly primary: string) {
    super(`the Sentinels do not know a primary named '${primary}'`);
  }
}

/** Whether the driver says that it has asked all Sentinels in vain. */
export function isEndOfRound(error: unknown): boolean {
  return describe(error).startsWith('All sentinels are unreachable');
}

/** What the Sentinels say that the driver asks for the primary, one after another, until one names it. */
export class SentinelRound {
  private readonly failures = new Map<string, string>();

  constructor(private readonly client: Client) {
    client.on('sentinelError', (error: unknown) => {
      const [, sentinel = '', reason = ''] = FAILURE.exec(describe(error)) ?? [];
      this.failures.set(sentinel, reason);
    });
  }

  /** Ends the round. Returns why no Sentinel has named the primary; undefined when one has, or when there are none. */
  end(): Error | undefined {
    const { sentinels, name = '' } = this.client.options;
    const failures = [...this.failures];
    this.failures.clear();
    // With fewer failures than Sentinels, one of them has named the primary.
    if (!sentinels || failures.length < sentinels.length) return undefined;
    if (failures.every(([, reason]) => UNAWARE.test(reason))) return new UnknownPrimaryError(name);
    const said = failures.map(([sentinel, reason]) => `${sentinel}: ${reasonOf(new Error(reason))}`);
    return new Error(`no Sentinel names the primary: ${said.join('; ')}`);
  }
}

/** An error that a script of ours or of BullMQ has raised as a text: the reply of Redis comes after the line of the script. */
const RAISED_BY_SCRIPT =
  /^ERR (?:Error running script \(call to \w+\): )?@?user_script:\d+: (?:@user_script: ?\d+: )?-?/;
/** Where in a script an error was raised. */
const PLACE_IN_SCRIPT = / script: [0-9a-f]{40}, on @\w+:\d+\.\s*$/;
const NO_SENTINEL = /^All sentinels are unreachable\b.*?(?:Last error: (.*))?$/s;
/** What the driver says of a connection that was open a moment ago. */
const LOST =
  /^(?:Connection is closed|Stream isn't writeable|Command aborted|Reached the max retries per request|Cluster (?:isn't ready|is ended))/i;

/** The reply of Redis itself, with its code first, wherever it was raised. */
export function replyOf(error: unknown): string {
  return describe(error).replace(RAISED_BY_SCRIPT, '');
}

/**
 * Why Redis did not do something, in a few words for the log: without options and classes of the driver, places in scripts, and anything
 * else that changes from one failure to the next.
 */
export function reasonOf(error: unknown): string {
  const { errors, lastNodeError } = factsOf(error) as { readonly errors?: unknown; readonly lastNodeError?: unknown };
  if (Array.isArray(errors)) return [...new Set(errors.map(reasonOf))].join('; ');
  if (lastNodeError !== undefined && lastNodeError !== null) return reasonOf(lastNodeError);
  return toPlain(replyOf(error));
}

function toPlain(text: string): string {
  const [isNoSentinel, lastError] = NO_SENTINEL.exec(text) ?? [];
  if (isNoSentinel !== undefined) {
    return `no Sentinel names the primary${lastError === undefined ? '' : `: ${toPlain(lastError)}`}`;
  }
  if (LOST.test(text)) return 'the connection was lost';
  return text.replace(PLACE_IN_SCRIPT, '').replace(/^(?:connect|read|write) (?=E[A-Z]+\b)/, '');
}
