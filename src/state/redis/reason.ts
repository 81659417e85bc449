import { describe, factsOf } from '../driver-errors.js';

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
