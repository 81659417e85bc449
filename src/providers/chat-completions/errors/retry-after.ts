/** Upper bound of a wait: 24 hours. */
const LONGEST_MS = 24 * 60 * 60 * 1000;

type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The wait that an upstream requests, ms: from `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const milliseconds = toNumber(first(headers['retry-after-ms']));
  const text = first(headers['retry-after']) ?? '';
  const wait = milliseconds ?? (toNumber(text) ?? NaN) * 1000;
  const date = Date.parse(text) - now;
  const asked = Number.isNaN(wait) ? date : wait;
  return Number.isNaN(asked) ? undefined : Math.min(Math.max(0, asked), LONGEST_MS);
}

function toNumber(text = ''): number | undefined {
  return /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
