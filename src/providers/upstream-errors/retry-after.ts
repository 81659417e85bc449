/** Upper bound of a wait: 24 hours. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** An HTTP date. `Date.parse` alone takes nearly any text with a number in it for a date, `-5` included. */
const HTTP_DATE = /^[A-Z][a-z]{2,8}, [\w\s:-]{10,30} GMT$/;

/**
 * The wait that an upstream requests, ms, at most a day: from `retry-after-ms`, or `retry-after` in seconds or as a date. A date in
 * the past is no wait. Undefined if there is none that can be understood: negative numbers and other texts are ignored.
 */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const text = (firstValue(headers['retry-after']) ?? '').trim();
  const asked =
    toNumber(firstValue(headers['retry-after-ms']) ?? '') ?? toMilliseconds(toNumber(text)) ?? untilDate(text, now);
  return asked === undefined ? undefined : Math.min(asked, LONGEST_MS);
}

/** A delay in the text of an error: `Please try again in 1.2s`, `300ms`, `2 seconds`, `1m3.5s`, `Please retry after 26 seconds`. */
const ADVICE =
  /(?:try again|retry) (?:in|after)\s*(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(\d{1,9}(?:\.\d{1,9})?)\s*(ms|seconds?|s)\b/i;

/** The delay in the text of an error, ms, at most a day. */
export function readAdvice(message: string): number | undefined {
  const [, hours = 0, minutes = 0, amount, unit] = ADVICE.exec(message) ?? [];
  if (amount === undefined) return undefined;
  const minutesMs = (Number(hours) * 60 + Number(minutes)) * 60_000;
  return Math.min(minutesMs + Number(amount) * (unit?.toLowerCase() === 'ms' ? 1 : 1000), LONGEST_MS);
}

function toNumber(text: string): number | undefined {
  return /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function toMilliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1000;
}

function untilDate(text: string, now: number): number | undefined {
  const date = HTTP_DATE.test(text) ? Date.parse(text) : NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The value of a header that may stand several times: the first one. */
export function firstValue(values: Headers[string]): string | undefined {
  return typeof values === 'string' ? values : values?.[0];
}
