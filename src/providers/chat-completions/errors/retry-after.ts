type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** How long an upstream asks to wait, ms: `retry-after-ms`, or `retry-after` in seconds or as a date. */
export function readRetryAfter(headers: Headers, now: number): number | undefined {
  const milliseconds = Number(first(headers['retry-after-ms']) ?? NaN);
  if (milliseconds >= 0) return milliseconds;
  const text = first(headers['retry-after']) ?? '';
  if (/^\d+(?:\.\d+)?$/.test(text.trim())) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

function first(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.[0];
}
