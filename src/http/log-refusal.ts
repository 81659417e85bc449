import { Logger } from '@nestjs/common';

import { FLOOD_LIMIT, LineBudget, LogLine, quote } from '../logging/index.js';
import type { ApiError } from '../protocol/index.js';
import { ModelError } from '../providers/index.js';
import { SystemClock } from '../time/index.js';

const logger = new Logger('Refused');

const budget = new LineBudget(
  {
    ...FLOOD_LIMIT,
    report: (_kind, leftOut) => logger.log(`${leftOut} more within a second`),
  },
  new SystemClock(),
);

/**
 * Logs one line for a refused request, upgrade or frame, within FLOOD_LIMIT: what was refused, the
 * error, the system error behind it such as ECONNREFUSED, and the request id. Never a body or a query. `what` is a method and a path, or a connection id; it is made only
 * when it is logged.
 */
export function logRefusal(what: () => string, error: ApiError, requestId?: string): void {
  if (!Logger.isLevelEnabled('log') || isLoggedAlready(error) || !budget.admits('refusals')) return;
  const { status, code, param } = error;
  const refused = what();
  const cause = causeOf(error);
  const members = { refused, status, code, param, request_id: requestId ?? null, ...(cause === null ? {} : { cause }) };
  const text = (): string => {
    const request = requestId === undefined ? '' : ` request=${requestId}`;
    const reason = cause === null ? '' : ` cause=${cause}`;
    return `${refused} ${status} ${describeCode(code)}${param === null ? '' : ` param=${quote(param)}`}${reason}${request}`;
  };
  logger.log(new LogLine(members, text));
}

/** Codes of model servers are any text. */
function describeCode(code: string | null): string {
  if (code === null) return '-';
  return /^\w+$/.test(code) ? code : quote(code);
}

/** The method and the path of a request for a log line: neither a query nor, in an absolute URL, a host with credentials. */
export function describeTarget({ method = '', url = '' }: { readonly method?: string; readonly url?: string }): string {
  return `${method} ${quote(url.replace(/^(?:\w+:\/\/[^/]*|\/\/[^/]*@[^/]*)|[?#].*$/gs, ''))}`;
}

/** Whoever turns the cause of an internal error into an ApiError logs it; an error of a provider is for the client. */
function isLoggedAlready({ status, cause }: ApiError): boolean {
  return status >= 500 && cause !== undefined && !(cause instanceof ModelError);
}

/** A system's name of an error; texts of causes may quote anything. */
const SYSTEM_CODE = /^[A-Z][A-Z0-9_]{2,40}$/;

/** Causes of causes that are looked at. */
const MOST_CAUSES = 5;

/** The code of the system error behind a 5xx; null if there is none. */
function causeOf({ status, cause }: ApiError): string | null {
  let next: unknown = status >= 500 ? cause : undefined;
  for (let depth = 0; depth < MOST_CAUSES && typeof next === 'object' && next !== null; depth += 1) {
    const { code, cause: deeper } = next as { readonly code?: unknown; readonly cause?: unknown };
    if (typeof code === 'string' && SYSTEM_CODE.test(code)) return code;
    next = deeper;
  }
  return null;
}
