import { type Check, described, Violation, tooLong, wrongType } from '../../validation/index.js';

const MAX_LENGTH = 256;

const check: Check = (value) => {
  if (typeof value !== 'string') return wrongType('a string', value);
  if (value.length > MAX_LENGTH) return tooLong(MAX_LENGTH, value);
  // URLs drop the path segments `.` and `..`.
  if (/^[\x21-\x7e]+$/.test(value) && !/^\.{1,2}$/.test(value)) return null;
  return new Violation(
    'invalid_value',
    (path) =>
      `Invalid '${path}'. Expected a session name of 1 to ${MAX_LENGTH} visible ASCII characters without blanks, ` +
      "other than '.' and '..'.",
  );
};

/** A session name: visible ASCII characters, so that a header can carry it (docs/decisions/2026-11-21-sessions.md). */
export const sessionId = described(check, {
  type: 'string',
  minLength: 1,
  maxLength: MAX_LENGTH,
  pattern: '^(?!\\.{1,2}$)[!-~]+$',
});

const HEADER = 'x-session-id';

/** The session named in the headers of a request. Throws ApiError 400 for an invalid name. */
export function readSessionId(headers: Readonly<Record<string, unknown>>): string | undefined {
  const value = headers[HEADER];
  if (value === undefined) return undefined;
  const violation = sessionId(value, { unknownParameters: 'ignore' });
  if (violation !== null) throw violation.under(HEADER).toError();
  return value as string;
}
